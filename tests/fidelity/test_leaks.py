"""Each kind of state separately: its check sees it, it leaks if the reset leaves it out, and it leaks with
neither fork nor rewind."""

import pytest

import batteries

ALL = [(language, name, leaks_under) for language in batteries.LANGUAGES
       for name, leaks_under in batteries.kinds(language).items()]


def test_there_are_many_kinds():
    counts = {language: len(batteries.kinds(language)) for language in batteries.LANGUAGES}
    assert min(counts.values()) >= 40, counts


def sees(stands, language, name):
    """Whether the check sees state that was left in the same process."""
    stand = stands.get(language, reset="fork")
    text = stand.ask("again=" + name).text
    assert name in batteries.differences(text, stands.reference(language))


def after(stand, query):
    """What a worker's second request sees."""
    stand.renew()
    stand.ask(query)
    workers = stand.zygote.workers
    text = stand.ask().text
    assert stand.zygote.workers == workers, "another worker answered"
    stand.renew()
    return text


def leaks(stands, language, name, leaks_under):
    """The next request sees it. Compared with a worker whose first request left nothing, because the checks
    leave traces, too."""
    options = ({"reset": "none"} if leaks_under == "none"
               else {"reset": "rewind", "without": leaks_under, "verify": False})
    stand = stands.get(language, **options)
    if stand.untouched is None:
        stand.untouched = after(stand, "")
    assert name in batteries.differences(after(stand, name), stand.untouched)


def is_clean(stands, language, name, reset):
    stand = stands.get(language, reset=reset)
    reference = stands.reference(language)
    # The next kind's first request looks at everything once more, in the same stand.
    for query in (name, ""):
        answer = stand.ask(query)
        assert batteries.differences(answer.text, reference) == {}, f"{reset}, {query or 'after it'}"
        assert (answer.code, answer.stderr) == (0, b"")


@pytest.mark.parametrize("language, name, leaks_under", ALL, ids=[f"{one}-{two}" for one, two, _ in ALL])
def test_a_kind(stands, language, name, leaks_under):
    if not batteries.can_do(name):
        pytest.skip("needs root")
    # Each shows that the check sees it.
    if leaks_under:
        leaks(stands, language, name, leaks_under)
    else:
        sees(stands, language, name)
    for reset in batteries.RESETS:
        is_clean(stands, language, name, reset)
