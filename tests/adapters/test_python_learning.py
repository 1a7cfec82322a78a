"""Which modules Python's adapter reports as worth loading in advance, according to the setting `learn`."""

import pytest

from driver import FILE, Warm, adapters_dir

SCRIPT = """import os, sys
print("own" in sys.modules, "decimal" in sys.modules)
import decimal, own
print(own.word)
"""


def zygote_of(script, preload=(), **more):
    return Warm(["/usr/bin/python3", f"{adapters_dir()}/python/start.py", "--preload=" + ",".join(preload),
                 script], level="compiled", **more)


@pytest.fixture(params=["fork", "rewind"])
def reset(request):
    return request.param


@pytest.mark.parametrize("learn, named", [
    ("installed", {"decimal"}), ("all", {"decimal", "own"}), ("none", set())])
def test_what_is_named_is_what_the_operator_wants_learned(folder, reset, learn, named):
    folder.script("own.py", "word = 'fine'\n")
    with zygote_of(folder.script("x.py", SCRIPT), reset=reset, learn=learn) as zygote:
        answer = zygote.ask()
    assert set(answer.loaded()) & {"decimal", "own"} == named and answer.text == "False False\nfine\n"


def test_the_program_s_own_modules_are_loaded_ahead_if_the_operator_wants_it(folder, reset):
    own = folder.script("own.py", "word = 'fine'\n")
    script = folder.script("x.py", SCRIPT)
    with zygote_of(script, preload=["decimal", "own"], reset=reset, learn="all") as zygote:
        assert own in zygote.note(FILE)[0].split("\n")
        assert zygote.ask().text == "True True\nfine\n"
    with zygote_of(script, preload=["decimal", "own"], reset=reset) as zygote:
        assert zygote.ask().text == "False True\nfine\n"
