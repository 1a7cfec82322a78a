"""What failed is run once more, alone, when nothing else runs: a test that passes then is unsteady.
A few such do not make a run red; a test that fails twice does."""

import dataclasses
import re
import shutil

UNSTEADY_MOST = 3   # more are as bad as one that fails twice
AGAIN_MOST = 40     # more than that did not fail by chance, and none of the rest is run again


@dataclasses.dataclass
class Verdict:
    """Titles of tests."""
    unsteady: list
    failed: list
    not_again: list  # of the failed, those that were not run once more


def look_again(done, hands, kept, heard):
    """Runs each failed test of these Dones once more. What an unsteady one said both times is kept in
    a folder of its own in `kept`, which holds nothing older. heard(title, passed, second) is called
    after each."""
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
            # Numbered, as two titles may come to the same name.
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
