"""The outcomes of tests, read from the JUnit files of pytest and GoogleTest."""

import dataclasses
import xml.etree.ElementTree as xml

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass
class Outcome:
    state: str      # PASSED, FAILED or SKIPPED
    text: str = ""  # why it was skipped, or the output of a failed one


def read(path):
    """{(classname, name): Outcome}, in the file's order; {} if the file is missing or incomplete, for
    example because its writer was killed. A test may be listed twice: it failed, and so did the end of its
    fixture."""
    try:
        cases = list(xml.parse(path).iter("testcase"))
    except (OSError, xml.ParseError):
        return {}
    found = {}
    for case in cases:
        key = case.get("classname") or "", case.get("name") or ""
        found[key] = worse(found.get(key), outcome_of(case))
    return found


def outcome_of(case):
    wrong = [*case.findall("failure"), *case.findall("error")]
    # GoogleTest marks a disabled test only by its status.
    if not wrong and (case.find("skipped") is not None or case.get("status") == "notrun"):
        skipped = case.find("skipped")
        return Outcome(SKIPPED, "" if skipped is None else skipped.get("message", ""))
    if not wrong:
        return Outcome(PASSED)
    said = [piece.text or piece.get("message", "") for piece in wrong]
    said += [piece.text or "" for tag in ("system-out", "system-err") for piece in case.findall(tag)]
    return Outcome(FAILED, "\n".join(said))


def worse(one, other):
    if one is None or (one.state != FAILED and other.state == FAILED):
        return other
    if one.state == other.state == FAILED:
        return Outcome(FAILED, f"{one.text}\n{other.text}")
    return one


def count(outcomes, state):
    return sum(outcome.state == state for outcome in outcomes)


def closing_line(passed, failed, skipped):
    """The line with the counts, in the form that every reader of test output knows."""
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
