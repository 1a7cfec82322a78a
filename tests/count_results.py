"""Adds up the JUnit files in a folder: a line for each, the reasons of what was skipped, and as the
last line `N passed, N failed, N skipped`. Exits 1 if anything failed or nothing ran."""

import collections
import pathlib
import sys
import xml.etree.ElementTree as xml


def outcome_of(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    # ctest marks a disabled test by its status only.
    if skipped is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def main(folder):
    total = collections.Counter()
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        counts = collections.Counter()
        for case in xml.parse(path).iter("testcase"):
            outcome = outcome_of(case)
            counts[outcome] += 1
            if outcome == "skipped" and case.find("skipped") is not None:
                reason = case.find("skipped").get("message", "")
                print(f"  skipped: {path.stem}: {case.get('name')}: {reason}")
        print(f"  {path.stem}: {counts['passed']} passed, {counts['failed']} failed")
        total.update(counts)
    line = f"{total['passed']} passed, {total['failed']} failed"
    if total["skipped"]:
        line += f", {total['skipped']} skipped"
    print(line)
    return 0 if total["passed"] and not total["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
