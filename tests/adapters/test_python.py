"""The level `compiled` for Python: the interpreter of the first line, the compiled script, and the loaded
modules that it is known to import."""

import os
import subprocess
import sys
import time

import pytest

from driver import FILE, LAUNCH_ENV, REQUEST_ENV, SHALLOWER, WARNING, run_plainly
from python import PYTHON, answers_like_plain, python_argv, python_zygote

LOOK_AROUND = '''"""The script's own doc."""
import os, sys
print(sys.argv, sys.path, getattr(sys, "orig_argv", None))
print(sorted(globals()), __name__, __doc__, __file__, __spec__, __package__)
print(type(__loader__).__name__, __loader__.name, __loader__.path)
print(sys.modules["__main__"].__dict__ is globals())
print(dict(os.environ), os.environ._data is os.environb._data, os.getenv("QUERY_STRING"))
for s in (sys.stdin, sys.stdout, sys.stderr):
    print(s, s.encoding, s.errors, s.line_buffering, s.write_through, s.seekable(),
          s.newlines, s.mode, s.buffer, getattr(s.buffer, "raw", None), s.fileno())
print(sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__)
print(sys.excepthook is sys.__excepthook__)
print(os.getcwd(), open("/dev/null").fileno(), sys.flags, len(sys.meta_path))
print(repr(sys.stdin.read()))
sys.stdout.flush()
os.system("echo child; env | sort; ls /proc/self/fd")
print(sys.stdin.buffer.read(), file=sys.stderr)
'''


@pytest.mark.parametrize("switches", [(), ("-u",), ("-I",), ("-E", "-s"), ("-B", "-O"),
                                      ("-X", "utf8")])
def test_what_a_script_sees_of_itself(folder, switches):
    script = folder.script("x.py", LOOK_AROUND)
    answers_like_plain(script, "json", switches, words=["a", "b c"], body="grüße\n".encode())


def test_an_encoding_that_the_environment_names(folder):
    script = folder.script("x.py", LOOK_AROUND)
    env = {"PYTHONIOENCODING": "latin-1:replace", "LC_ALL": "C.UTF-8"}
    plain = run_plainly([PYTHON, script], env={**REQUEST_ENV, **env})
    with python_zygote(script, env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.worker().request([script], env={**REQUEST_ENV, **env}).seen() == plain.seen()


@pytest.mark.parametrize("size", [4094, 4095, 4096, 8190, 30000])
def test_an_environment_that_comes_in_several_pieces(folder, size):
    script = folder.script("x.py", "import os\nprint(dict(os.environ), flush=True)\n"
                           "os.system('env | sort')")
    length = sum(len(name) + len(value) + 2 for name, value in REQUEST_ENV.items())
    env = {**REQUEST_ENV, "LONG": "x" * (size - length - 6)}
    answers_like_plain(script, env=env)


def test_a_syntax_error_is_the_interpreter_s_own(folder):
    script = folder.script("x.py", "print('never')\nx = = 1\n")
    with python_zygote(script) as zygote:
        assert not zygote.stands and not zygote.note(SHALLOWER)
        assert zygote.process.wait(5) == 1
        assert zygote.log() == run_plainly([PYTHON, script]).stderr.decode()


def test_a_source_in_another_encoding(folder):
    path = folder.path / "x.py"
    path.write_bytes("# -*- coding: latin-1 -*-\nprint(ascii('é'))\n".encode("latin-1"))
    answers_like_plain(str(path))


GENERATORS = """
import random, uuid, secrets, tempfile, os
print(random.random(), random.getrandbits(64), uuid.uuid4(), uuid.uuid1(), secrets.token_hex(8),
      next(tempfile._get_candidate_names()), os.urandom(4).hex(), sep="\\n")
"""


def test_random_generators_differ_between_workers(folder):
    script = folder.script("x.py", GENERATORS)
    with python_zygote(script, "random,uuid,secrets,tempfile") as zygote:
        drawn = [line for _ in range(30) for line in zygote.worker().request([script]).text.split()]
    assert len(set(drawn)) == len(drawn)


def test_a_module_s_own_generator_differs_unless_it_was_given_a_seed(folder):
    folder.script("site/drawing.py", "import random\nfree, fixed = random.Random(), random.Random(7)\n"
                  "system = random.SystemRandom()")
    script = folder.script("cgi/x.py", "import drawing, random\nprint(drawing.free.random(),"
                           "drawing.system.random(), random.random(), drawing.fixed.random(),"
                           "random.Random(7).random(), random.Random.seed.__name__)")
    path = {"PYTHONPATH": str(folder.path / "site")}
    with python_zygote(script, "drawing,random", env={**LAUNCH_ENV, **path}, accept="random") as zygote:
        answers = [zygote.worker().request([script], env={**REQUEST_ENV, **path}).text.split()
                   for _ in range(5)]
    assert zygote.note(WARNING) == []
    for column in range(3):
        assert len({answer[column] for answer in answers}) == 5
    assert len({(fixed, again, name) for *_, fixed, again, name in answers}) == 1
    assert answers[0][3] == answers[0][4] and answers[0][5] == "seed"


def test_learned_modules_are_reported_and_then_loaded_ahead(folder):
    folder.script("mine.py", "import csv\n")
    script = folder.script("x.py", "import json.tool, mine, sys; print('json' in sys.modules)")
    with python_zygote(script) as zygote:
        loaded = zygote.worker().request([script]).loaded()
    assert {"json", "json.tool", "csv", "argparse"} <= set(loaded) and "mine" not in loaded
    assert loaded.index("argparse") < loaded.index("json.tool")  # in the order in which their loading ended
    with python_zygote(script, ",".join(loaded)) as zygote:
        answer = zygote.worker().request([script])
    assert answer.loaded() == [] and answer.text == "True\n"


def test_a_script_that_leaves_at_once_reports_nothing(folder):
    script = folder.script("x.py", "import json, os; os._exit(0)")
    with python_zygote(script) as zygote:
        answer = zygote.worker().request([script])
    assert answer.notes == [] and answer.done is None


def test_the_program_s_own_modules_are_never_loaded_ahead(folder):
    """Also if one of them shadows a module of the interpreter that another module would import."""
    folder.script("csv.py", "import os; name = os.environ['QUERY_STRING']")
    folder.script("mine.py", "raise SystemExit('loaded')")
    script = folder.script("x.py", "import csv, sys\n"
                           "print(csv.name, csv.__file__, 'json' in sys.modules)")
    answers_like_plain(script, "csv,mine")


MODULES = {
    "reads": "import os; mood = os.environ.get('REQUEST_METHOD')",
    "lists": "import os; names = list(os.environ)",
    "writes": "import os; os.environ['WRITTEN'] = '1'",
    "prints": "print('import')", "warns": "import sys; print('import', file=sys.stderr)",
    "chosen": "import os; backend = os.environ.get('BACKEND', 'none')",
    "fails": "import nosuchmodule", "dies": "1 / 0", "leaves": "raise SystemExit(3)",
}


@pytest.mark.parametrize("name, why", [
    ("reads", "reads the environment's REQUEST_METHOD"), ("lists", "lists"), ("writes", "writes"),
    ("prints", "prints"), ("warns", "prints"), ("chosen", "reads BACKEND"), ("fails", "fails to import"),
    ("dies", "fails to import"), ("leaves", "fails to import"), ("nosuchmodule", None)])
def test_a_module_that_a_program_would_notice_is_not_loaded_ahead(folder, name, why):
    for module, text in MODULES.items():
        folder.script(f"site/{module}.py", text)
    script = folder.script("cgi/x.py", f"""
import os, sys
early = "{name}" in sys.modules
os.environ["BACKEND"] = "mine"
try:
    import {name}
    print(getattr({name}, "mood", 0), getattr({name}, "backend", 0))
except BaseException as e:
    print(type(e))
print(sorted(os.environ), early)
""")
    path = {"PYTHONPATH": str(folder.path / "site")}
    plain = run_plainly([PYTHON, script], env={**REQUEST_ENV, **path})
    with python_zygote(script, f"json,{name},csv", env={**LAUNCH_ENV, **path}) as zygote:
        for _ in range(2):
            answer = zygote.worker().request([script], env={**REQUEST_ENV, **path})
            assert answer.seen() == plain.seen()
        assert [why in text for text in zygote.note(WARNING)] == ([True] if why else [])


def test_a_module_that_starts_a_thread_is_not_loaded_ahead(folder):
    folder.script("site/threaded.py", "import threading, time\n"
                  "threading.Thread(target=time.sleep, args=[60], daemon=True).start()")
    script = folder.script("cgi/x.py", "print(1)")
    env = {**LAUNCH_ENV, "PYTHONPATH": f"{folder.path}/site"}
    with python_zygote(script, "threaded", env=env) as zygote:
        assert zygote.threads == 1 and zygote.worker().request([script]).text == "1\n"


def test_a_request_whose_constant_differs_starts_the_program_anew(folder):
    folder.script("site/moody.py", "import os; mood = os.environ.get('MOOD')")
    script = folder.script("cgi/x.py", "import moody, sys, os\n"
                           "print(moody.mood, sys.argv[1:], os.getpid())")
    path = {"PYTHONPATH": str(folder.path / "site")}
    with python_zygote(script, "moody", env={**LAUNCH_ENV, **path}) as zygote:
        worker = zygote.worker()
        answer = worker.request([script, "w"], env={**REQUEST_ENV, **path, "MOOD": "good"})
        assert answer.text == f"good ['w'] {worker.pid}\n"
        assert [kind for kind, _ in answer.notes] == [SHALLOWER]


def test_fork_handlers_of_modules_run(folder):
    folder.script("site/registers.py", "import os; seen = []\n"
                  "os.register_at_fork(before=lambda: seen.append(1),"
                  "after_in_child=lambda: seen.append(2))")
    script = folder.script("cgi/x.py", "import registers, logging, threading\n"
                           "logging.warning('x')\n"
                           "t = threading.Thread(target=print, args=['thread'])\n"
                           "t.start(); t.join()\n"
                           "print(registers.seen, threading.main_thread().native_id\n"
                           "      == threading.get_native_id())")
    path = {"PYTHONPATH": str(folder.path / "site")}
    with python_zygote(script, "registers,logging,threading", env={**LAUNCH_ENV, **path}) as zygote:
        answer = zygote.worker().request([script], env={**REQUEST_ENV, **path})
    assert (answer.text, answer.stderr) == ("thread\n[1, 2] True\n", b"WARNING:root:x\n")


def test_children_of_the_script(folder):
    answers_like_plain(folder.script("x.py", """
import os, subprocess, sys
print("one", flush=True)
if os.fork() == 0:
    print("child"); sys.exit(3)
print(os.wait()[1], flush=True)
print(subprocess.run(["ls", "/proc/self/fd"], capture_output=True).stdout, flush=True)
os.execvp("sh", ["sh", "-c", "echo exec; exit 6"])
"""), "subprocess")


def test_multiprocessing_works(folder):
    script = folder.script("x.py", """
import multiprocessing
def square(x): return x * x
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(pool.map(square, range(5)))
""")
    answers_like_plain(script, "multiprocessing")


def test_the_interpreter_of_a_venv(folder):
    made = subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(folder.path / "venv")])
    if made.returncode:
        pytest.skip("no venv module")
    python = str(folder.path / "venv/bin/python3")
    script = folder.script("x.py", "import sys\nprint(sys.prefix, sys.executable, "
                           "sys.path, sys.orig_argv)")
    answers_like_plain(script, "json", python=python)


def test_an_interpreter_behind_a_wrapper_script(folder):
    """As `env python3` finds it with version managers: a shell script that execs the real interpreter."""
    wrapper = folder.script("python3", f"#!/bin/bash\nname=$(basename $0)\nexec {PYTHON} \"$@\"\n")
    script = folder.script("x.py", "import sys, os; print(sys.argv[1:], sorted(os.environ))\n"
                           "print(os.listdir('.'))")
    with python_zygote(script, "json", python=wrapper) as zygote:
        answer = zygote.worker().request([script, "w"], cwd=str(folder.path))
    plain = run_plainly([PYTHON, script, "w"], cwd=str(folder.path))
    assert answer.seen() == plain.seen()


def test_a_script_by_a_symlink_finds_its_modules(folder):
    folder.script("real/mine.py", "name = 'mine'")
    os.symlink(folder.script("real/x.py", "import mine, sys\n"
                             "print(mine.name, sys.path[0], __file__)"),
               folder.path / "link.py")
    answers_like_plain(str(folder.path / "link.py"), "json")


def test_times_are_the_request_s(folder):
    script = folder.script("x.py", "import logging, time\n"
                           "print(logging._startTime, time.process_time() < 0.5)")
    with python_zygote(script, "logging") as zygote:
        worker = zygote.worker()
        time.sleep(1.2)
        sent = time.time()
        begun, soon = worker.request([script]).text.split()
    begun = float(begun) / (1e9 if float(begun) > 1e12 else 1)  # nanoseconds from Python 3.13 on
    assert sent <= begun <= time.time() and soon == "True"


def test_files_of_the_checkpoint_are_named(folder):
    script = folder.script("x.py", "print(1)")
    with python_zygote(script, "json") as zygote:
        files = "\n".join(zygote.note(FILE)).split("\n")
    assert script in files and any(name.endswith("json/__init__.py") for name in files)


def test_without_the_library_the_script_is_plain_cgi(folder):
    script = folder.script("x.py", LOOK_AROUND)
    assert run_plainly(python_argv(script, "json")).seen() == run_plainly([PYTHON, script]).seen()


def test_without_the_library_and_without_a_request_nothing_runs(folder):
    script = folder.script("x.py", "print('ran')")
    assert run_plainly(python_argv(script), env=LAUNCH_ENV).stdout == b""


@pytest.mark.skipif(sys.executable == PYTHON, reason="no other interpreter")
def test_another_interpreter(folder):
    answers_like_plain(folder.script("x.py", LOOK_AROUND), "json,random", python=sys.executable)


# -- the reset `none` ---------------------------------------------------------------------------

def asks_again(script, *requests, preload=""):
    """The answers of one worker, which is reused for each (words, further request options)."""
    with python_zygote(script, preload, reset="none") as zygote:
        assert (zygote.reset, zygote.weaker) == ("none", ""), zygote.log()
        worker = zygote.worker()
        return [worker.request([script, *words], **more) for words, more in requests]


def test_a_process_that_is_used_again_keeps_its_state_and_gets_each_request(folder):
    folder.script("mine.py", "calls = []")
    script = folder.script("x.py", """
import os, sys, mine, codecs
count = globals().get("count", 0) + 1
mine.calls.append(count)
print(count, mine.calls, sys.argv, sys.orig_argv[2:], os.environ["QUERY_STRING"])
print(os.environ.get("ONCE"), os.system("test -z $ONCE"), os.getcwd(), sys.stdin.readline())
print(sys.stdin.seekable(), sys.stdout.seekable(), sys.stdin.isatty(), "\\u263a")
os.environ["ONCE"] = "mine"
print("error", count, file=sys.stderr)
""")
    answers = asks_again(
        script, (["a", "b"], {"body": b"one\nleft over\n", "env": {**REQUEST_ENV, "ONCE": "1"}}),
        ([], {"body": b"two\n", "cwd": str(folder.path)}),
        (["c"], {"body": b"", "env": {**REQUEST_ENV, "QUERY_STRING": "q"}}))
    texts = [answer.text.split("\n") for answer in answers]
    assert texts[0] == [f"1 [1] ['{script}', 'a', 'b'] ['a', 'b'] a=1&b=2", "1 256 / one", "",
                        "False False False ☺", ""]
    assert texts[1] == [f"2 [1, 2] ['{script}'] [] a=1&b=2", f"None 0 {folder.path} two", "",
                        "False False False ☺", ""]
    assert texts[2] == [f"3 [1, 2, 3] ['{script}', 'c'] ['c'] q", "None 0 / ",
                        "False False False ☺", ""]
    assert [answer.stderr for answer in answers] == [b"error 1\n", b"error 2\n", b"error 3\n"]
    assert all(answer.stays and answer.done == 0 for answer in answers)


@pytest.mark.parametrize("end", [
    "sys.exit(3)", "sys.exit('message')", "sys.exit()", "sys.exit(256 + 7)", "1 / 0", "f()",
    "sys.excepthook = lambda *a: print('hook', a[0])\n1 / 0",
    "sys.excepthook = lambda *a: sys.exit(9)\n1 / 0",
    "sys.excepthook = lambda *a: f()\n1 / 0", "import os; os.write(1, b'raw')",
    "try:\n  1 / 0\nexcept Exception as e:\n  raise ValueError('x') from e"])
def test_an_end_is_the_request_s_and_not_the_process_s(folder, end):
    script = folder.script("x.py", f"import sys\ndef f():\n    raise ValueError('x')\n"
                           f"print('begin')\n{end}\n")
    plain = run_plainly([PYTHON, script])
    for answer in asks_again(script, ([], {}), ([], {})):
        assert answer.stays and answer.seen() == plain.seen()


def test_exit_handlers_run_at_the_end_of_a_process_that_is_used_again(folder):
    script = folder.script("x.py", f"""
import atexit
def at_exit():
    with open("{folder.path}/ends", "a") as file: file.write("end")
if "done" not in globals():
    done = atexit.register(at_exit)
""")
    asks_again(script, ([], {}), ([], {}))
    assert (folder.path / "ends").read_text() == "end"


def test_a_child_of_a_script_used_again_ends_by_itself(folder):
    script = folder.script("x.py", "import os, sys\nprint('start', flush=True)\nif os.fork() == 0:\n"
                           "    print('child'); sys.exit(9)\nprint(os.wait()[1] >> 8)\n")
    assert [answer.text for answer in asks_again(script, ([], {}), ([], {}))] == [
        "start\nchild\n9\n"] * 2


def test_a_script_used_again_reports_a_module_once(folder):
    script = folder.script("x.py", "import json")
    first, second = asks_again(script, ([], {}), ([], {}))
    assert "json" in first.loaded() and second.loaded() == []
