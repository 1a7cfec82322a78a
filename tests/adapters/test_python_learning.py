"""Which modules Python's adapter reports as worth loading in advance, according to the setting `learn`."""

import pytest

from driver import FILE, WARNING, Warm, adapters_dir, run_plainly

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


# `_asyncio` loads `asyncio`, which loads `_asyncio` a second time, unless it was first. Then neither of the
# two lists or cancels the tasks of the other.
TASKS = """import asyncio
async def waiting():
    try: await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError: print("cancelled"); raise
async def main():
    asyncio.create_task(waiting())
    await asyncio.sleep(0)
    print(len(asyncio.all_tasks()))
asyncio.run(main())
"""


def test_modules_are_named_as_their_loading_ended(folder, reset):
    with zygote_of(folder.script("x.py", TASKS), reset=reset) as zygote:
        named = zygote.ask().loaded()
    order = [named.index(name) for name in ("selectors", "_asyncio", "asyncio.tasks", "asyncio")]
    assert order == sorted(order)


@pytest.mark.parametrize("preload", [
    "asyncio,_asyncio", "_asyncio,asyncio", "_asyncio,asyncio.tasks,asyncio"])
def test_a_module_s_own_part_is_loaded_by_that_module(folder, reset, preload):
    script = folder.script("x.py", TASKS)
    plain = run_plainly(["/usr/bin/python3", script])
    assert plain.text == "2\ncancelled\n"
    with zygote_of(script, preload=preload.split(","), reset=reset) as zygote:
        for _ in range(2):
            assert zygote.ask().seen() == plain.seen()


MODES = """import locale, os, sys
print(sys.flags.utf8_mode, open(__file__).encoding)
print(locale.getpreferredencoding(False), os.environ.get("LC_CTYPE"))
"""


@pytest.mark.parametrize("given", [
    {}, {"LC_CTYPE": "C.UTF-8"}, {"LANG": "C.UTF-8"}, {"LC_ALL": "C"}], ids=str)
def test_an_interpreter_that_starts_over_finds_the_environment_of_the_first(folder, reset, given):
    """In the C locale it sets LC_CTYPE, and switches its UTF-8 mode on only if it has not found that set."""
    script = folder.script("x.py", MODES)
    env = {"PATH": "/usr/bin:/bin", "REQUEST_METHOD": "GET", "GATEWAY_INTERFACE": "CGI/1.1", **given}
    folder.script("own.py", "print('what a module prints keeps it from being loaded ahead')\n")
    plain = run_plainly(["/usr/bin/python3", script], env=env)
    launched_with = {"PATH": env["PATH"], **given}
    with zygote_of(script, preload=["own"], reset=reset, learn="all", env=launched_with) as zygote:
        assert "own is not loaded ahead" in zygote.note(WARNING)[0]
        assert zygote.ask(env=env).seen() == plain.seen()
