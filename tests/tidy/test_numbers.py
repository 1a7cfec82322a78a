"""Numbers that a text repeats are those of the code."""

import re

from tree import TOP


def number_in(path, pattern):
    found = re.findall(pattern, (TOP / path).read_text())
    assert found, f"{path}: nothing like {pattern}"
    return {int(number) for number in found}


def test_the_notes_that_end_a_worker():
    """And the program that sends endless notes sends more than that."""
    limit = number_in("bridge/worker/worker.cc", r"kNotesMax = (\d+);")
    assert number_in(".github/SECURITY.md", r"at the (\d+)th note of a request") == limit
    sent = number_in("tests/faults/test_hostile_programs.py", r"i < (\d+); i\+\+\) say\(fd, MESSAGE_NOTE")
    assert min(sent) > max(limit)
