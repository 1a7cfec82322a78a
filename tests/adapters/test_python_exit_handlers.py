"""Exit handlers and finalizers of modules that are loaded ahead of Python's requests: such a module is there
in a request that does not import it, so it stays ahead only if nobody would notice its handlers then."""

import re

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, WARNING, Warm, run_plainly
from python import PYTHON, python_argv

HEAD = "import atexit, os, sys, time, weakref\nused = []\nclass One: pass\none = One()\n"
AT_EXIT = "@atexit.register\ndef end():\n    "
# Each does something at its end if a request has used the module, and nothing else.
UNNOTICED = {
    "nothing": AT_EXIT + "pass",
    "prints if it was used": AT_EXIT + "if used: print('used', used)",
    "writes if it was used": AT_EXIT + "if used: open(os.environ['LOG'], 'a').write('used ')",
    "exits if it was used": AT_EXIT + "if used: sys.stdout.flush(); os._exit(7)",
    "fails if it was used": AT_EXIT + "if used: 1 / 0",
    "a function in C": "atexit.register(used.clear)",
    "changes memory": AT_EXIT + "used.clear(); globals()['one'] = None",
    "a finalizer": "weakref.finalize(one, used.append, 1)",
    "a finalizer that prints if it was used":
        "weakref.finalize(one, lambda: used and print('used', used))",
    "a finalizer of another's": "import logging, tempfile\nweakref.finalize(logging, used.clear)",
    "two": AT_EXIT + "if used: print('first')\natexit.register(lambda: used and print('second'))",
}
# Others would notice these whether it was used or not.
NOTICED = {
    "prints": AT_EXIT + "print('left')",
    "prints an error": AT_EXIT + "print('left', file=sys.stderr)",
    "prints by the descriptor": AT_EXIT + "os.write(1, b'left')",
    "writes a file": AT_EXIT + "open(os.environ['LOG'], 'a').write('left ')",
    "writes a file, from a thread": (
        "import threading\ndef write(): open('@LOG', 'a').write('left ')\n"
        + AT_EXIT + "t = threading.Thread(target=write); t.start(); t.join()"),
    "runs a command": "atexit.register(os.system, 'echo left >>@LOG')",
    "a child": AT_EXIT + ("child = os.fork()\n    if child: os.waitpid(child, 0)\n"
                          "    else: open('@LOG', 'a').write('left '); os._exit(0)"),
    "reads a variable": AT_EXIT + "used.append(os.environ.get('QUERY_STRING'))",
    "reads the words": AT_EXIT + "used.append(sys.argv[1:])",
    "asks for the time": AT_EXIT + "used.append(time.time())",
    "draws": AT_EXIT + "used.append(os.urandom(4))",
    "fails": AT_EXIT + "1 / 0",
    "exits": AT_EXIT + "sys.stdout.flush(); os._exit(7)",
    "exits as if all were well": AT_EXIT + "sys.stdout.flush(); os._exit(0)",
    "ends by a signal": AT_EXIT + "sys.stdout.flush(); os.kill(os.getpid(), 9)",
    "a finalizer that prints": "weakref.finalize(one, print, 'left')",
    "a finalizer of another's that prints":
        "import logging, tempfile\nweakref.finalize(logging, print, 'left')",
}
SCRIPT = """import os, sys
ahead = 'ends' in sys.modules
if os.environ['QUERY_STRING']:
    import ends
    if os.environ['QUERY_STRING'] == 'use': ends.used.append(1)
print('visitor', os.environ['QUERY_STRING'])
print(ahead, file=sys.stderr)
"""
QUERIES = ["", "import", "use", "", "import", "use", ""]


def without_places(text):
    return re.sub(rb"0x[0-9a-f]+", b"", text)


class Program:
    def __init__(self, folder, text, script=SCRIPT):
        self.log = folder.path / "log"
        folder.script("lib/ends.py", HEAD + text.replace("@LOG", str(self.log)) + "\n")
        self.script = folder.script("x.py", script)
        self.env = {"PYTHONPATH": str(folder.path / "lib"), "LOG": str(self.log)}

    def zygote(self, modules=("ends",), **more):
        line = python_argv(self.script, ",".join(["logging", "tempfile", "weakref", "threading", *modules]))
        return Warm(line, level="compiled", env={**LAUNCH_ENV, **self.env}, **more)

    def written(self):
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return text

    def plain(self, query):
        answer = run_plainly([PYTHON, self.script], env={**REQUEST_ENV, **self.env, "QUERY_STRING": query})
        return answer, self.written()

    def answers_as_plain(self, zygote, is_ahead):
        assert zygote.stands and self.written() == "", (zygote.notes, zygote.log())
        zygote.argv = [PYTHON, self.script]
        for query in QUERIES:
            plain, written = self.plain(query)
            answer = zygote.ask(env={**REQUEST_ENV, **self.env, "QUERY_STRING": query})
            wanted = plain.stderr.replace(b"False", b"True") if is_ahead else plain.stderr
            assert (answer.stdout, answer.code) == (plain.stdout, plain.code), query
            assert without_places(answer.stderr) == without_places(wanted), query
            assert self.written() == written


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", UNNOTICED)
def test_a_module_stays_ahead_whose_end_nobody_would_notice(folder, kind, reset):
    program = Program(folder, UNNOTICED[kind])
    with program.zygote(reset=reset) as zygote:
        assert zygote.note(WARNING) == []
        program.answers_as_plain(zygote, is_ahead=True)


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", NOTICED)
def test_a_module_whose_end_others_would_notice_is_not_loaded_ahead(folder, kind, reset):
    program = Program(folder, NOTICED[kind])
    with program.zygote(reset=reset) as zygote:
        assert any("ends" in text and "exit handler" in text for text in zygote.note(WARNING)), zygote.notes
        program.answers_as_plain(zygote, is_ahead=False)


def test_a_module_whose_end_hangs_is_not_loaded_ahead(folder):
    """Nor are those that load it, for which that is not waited for again."""
    program = Program(folder, AT_EXIT + "\n    while not used: pass")
    names = [f"over{n}" for n in range(12)]
    for name in names:
        folder.script(f"lib/{name}.py", "import ends\n")
    with program.zygote(modules=["ends", *names]) as zygote:
        assert zygote.stands and len(zygote.note(WARNING)) == 13, zygote.notes


@pytest.mark.parametrize("line", ["import atexit; atexit.register(print, 'own')",
                                  "from atexit import register; register(print, 'own')",
                                  "def f():\n    import weakref\n    weakref.finalize(f, print, 'own')\nf()"])
def test_a_program_that_has_exit_handlers_has_them_in_its_own_order(folder, line):
    """The module's would come first, because it is there first."""
    program = Program(folder, UNNOTICED["prints if it was used"], line + "\n" + SCRIPT)
    with program.zygote() as zygote:
        program.answers_as_plain(zygote, is_ahead=False)
