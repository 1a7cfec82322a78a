"""Every failed test is run once more, alone, when nothing else runs. If it passes then, it is unsteady. A few
unsteady tests do not fail the run; a test that fails twice does."""

import dataclasses
import re
import shutil

UNSTEADY_MOST = 3   # more than this are as bad as one that fails twice
AGAIN_MOST = 40     # more than this cannot be chance, so the rest is not run again


@dataclasses.dataclass
class Verdict:
    """Titles of tests."""
    unsteady: list
    failed: list
    not_again: list  # the failed ones that were not run again


def look_again(done, hands, kept, heard):
    """Runs each failed test of these Dones once more. The output of an unsteady one, from both runs, goes
    into its own folder in `kept`, which is emptied first. heard(title, passed, second) is called after
    each."""
    shutil.rmtree(kept, ignore_errors=True)
    verdict = Verdict([], [], [])
    failures = [(one, test) for one in done for test in one.failed()]
    for first, test in failures[:AGAIN_MOST]:
        title = first.part.title_of(test)
        second = hands.again(first.part, test)
        if second.failed():
            verdict.failed.append(title)
        else:
            verdict.unsteady.append(title)
            # Numbered, because two titles may result in the same name.
            name = re.sub(r"[^\w.-]+", "-", title)[:150]
            keep(kept / f"{len(verdict.unsteady)}-{name}", first.outcomes[test].text, second.said)
        heard(title, not second.failed(), second)
    verdict.not_again = [one.part.title_of(test) for one, test in failures[AGAIN_MOST:]]
    verdict.failed += verdict.not_again
    return verdict


def keep(folder, first, second):
    folder.mkdir(parents=True)
    (folder / "first.txt").write_text(first)
    (folder / "second.txt").write_text(second)
