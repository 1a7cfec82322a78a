"""The leak battery when changed pages are found by soft-dirty bits, or in the way that
CGIBRIDGE_TESTS_TRACKING names: no request sees what another left. tests/fidelity shows that each kind would
leak, and that its check sees it."""

import os

import batteries
import pytest

TRACKING = os.environ.get("CGIBRIDGE_TESTS_TRACKING", "soft-dirty")

ALL = [(language, name) for language in batteries.LANGUAGES for name in batteries.kinds(language)]


@pytest.mark.parametrize("language, name", ALL, ids=[f"{one}-{two}" for one, two in ALL])
def test_a_kind(stands, language, name):
    stand = stands.get(language, reset="rewind", tracking=TRACKING)
    reference = stands.reference(language)
    for query in (name, ""):
        answer = stand.ask(query)
        assert batteries.differences(answer.text, reference) == {}, query or "after it"
        assert (answer.code, answer.stderr) == (0, b"")
        assert answer.tracking in (None, TRACKING)  # None: a worker's first request
