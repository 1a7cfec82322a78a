"""The end of a Python program's request: as the interpreter would end it."""

import os
import subprocess

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, run_plainly
from python import PYTHON, answers_like_plain, python_zygote


@pytest.mark.parametrize("end, code", [
    ("sys.exit(3)", 3), ("sys.exit('message')", 1), ("sys.exit()", 0), ("raise SystemExit(4)", 4),
    ("1 / 0", 1), ("f()", 1), ("os._exit(5)", 5), ("raise KeyboardInterrupt", -2),
    ("os.kill(os.getpid(), 15)", -15), ("import nosuchmodule", 1),
    ("sys.excepthook = lambda *a: print('hook', a[0], a[2].tb_next is None)\n1 / 0", 1),
    ("try:\n  1 / 0\nexcept Exception as e:\n  raise ValueError('x') from e", 1),
    ("import traceback\ntry:\n  f()\nexcept Exception: traceback.print_exc()", 0),
    ("import cgitb, time; time.asctime = time.ctime = lambda *a: 'now'\n"
     "cgitb.enable(format='text')\n[][1]", 1),
    ("compile('x =', 'f', 'exec')", 1), ("import atexit; atexit.register(print, 'atexit')", 0)])
def test_every_end_is_the_interpreter_s_own(folder, end, code):
    script = folder.script("x.py", f"import sys, os, warnings\nwarnings.simplefilter('ignore')\n"
                           f"def f():\n    raise ValueError('x')\n"
                           f"print('begin', flush=True)\n{end}\n")
    assert answers_like_plain(script, "json,traceback,string").code == code


LOUD = """
class Loud:
    def __init__(self, name): self.name = name
    def __del__(self): print("deleted", self.name)
"""


@pytest.mark.parametrize("text", [
    "import json; json.loud = Loud('json')",
    "import builtins; builtins.loud = Loud('builtins')",
    "import sys; sys.stdout = open(1, 'w', closefd=False); print('through my own stdout')",
    "import sys, codecs; sys.stdout = codecs.getwriter('utf8')(sys.stdout.buffer); print('x')",
    "import sys; sys.stdout.close()", "import os; os.close(1); print('lost')",
    "import sys; sys.exit(300)", "import sys; sys.exit(-1)", "import sys; sys.exit(True)",
    "import sys\ndef hook(*error): print('hook'); sys.exit(3)\nsys.excepthook = hook\n1 / 0",
    "import threading, time; threading.Thread(target=time.sleep, args=[9], daemon=True).start()",
    "import threading\ndef late(): time.sleep(0.1); print('late')\nimport time\n"
    "threading.Thread(target=late).start()",
    "import atexit; a = Loud('a'); atexit.register(lambda: print(a.name))",
    "import atexit; atexit.register(int, 'x')", "import atexit; atexit._clear()",
    "import csv; csv.loud = Loud('csv'); one = Loud('one'); two = Loud('two'); one.two = two",
    "def rows():\n  try: yield 1\n  finally: print('finally')\nrow = rows(); next(row)",
    "import tempfile, os; f = tempfile.TemporaryDirectory(); print(os.path.isdir(f.name))",
    "import logging; logging.basicConfig(filename='/dev/stdout'); logging.error('logged')",
    "loud = Loud('x')\ndef f(): return 1 / 0\nf()", "import sys; sys.stderr.write('no newline')",
    "import weakref; loud = Loud('w'); weakref.finalize(loud, print, 'finalized')",
    "class Small:\n  __slots__ = ()\n  def __del__(self): print('small')\nsmall = Small()",
    "import weakref\nclass Held: pass\nheld = Held()\n"
    "ref = weakref.ref(held, lambda _: print('called back'))",
    "import gc; loud = Loud('frozen'); gc.freeze()",
    "import sys, atexit\natexit.register(print, 'atexit')\n"
    "def main():\n  local = Loud('local'); sys.exit(5)\nmain()",
    "import sys\nclass Both:\n  def write(self, text): sys.__stdout__.write(text.upper())\n"
    "  def flush(self): print('flushed', file=sys.__stdout__)\nsys.stdout = Both(); print('x')",
    "class Meta(type):\n  def __getattr__(cls, name): print('asked for', name); raise AttributeError\n"
    "class Asked(metaclass=Meta): pass\nasked = Asked()",
    "import sys; sys.modules.pop('json', 0); import colorsys, json; loud = Loud(1)",
    "import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'utf-16'); print('wide')",
    "import io, sys; sys.stderr = io.TextIOWrapper(sys.stderr.detach(), 'utf-16'); loud = Loud('x')",
    "import io, sys; sys.stdout = io.StringIO(); sys.__stdout__.close(); loud = Loud('x')",
    "import os; full = os.open('/dev/full', 1); loud = Loud('lost'); print(1, flush=True); os.dup2(full, 1)",
    "import os; os.dup2(os.open('/dev/full', 1), 1); print('lost')",
    "class Fails:\n  def __del__(self): 1 / 0\nfails = Fails()",
    "import json\nclass Imports:\n  def __del__(self): import json\nimports = Imports()",
    "class Opens:\n  def __del__(self): print(open('/dev/null').read())\nopens = Opens()",
    "import sys\nclass Looks:\n  def __del__(self): print(sys.argv, sys.path, len(sys.modules))\n"
    "looks = Looks()",
])
def test_the_end_of_objects_is_the_interpreter_s_own(folder, text):
    answers_like_plain(folder.script("x.py", LOUD + "print('begin')\n" + text + "\n"),
                       "json,logging,weakref,threading", in_order=ends_in_order())


# Each module has an object with an end, and holds others' objects, functions, or itself in a circle.
MODULES = {
    "first": "import second\nloud = Loud('first')\ndef f(): return loud\n",
    "second": "import third\nloud = Loud('second')\nheld = [loud]\nheld.append(held)\n",
    "third": "loud = Loud('third')\nclass K:\n  def __del__(self): print('third K', loud is None)\nk = K()\n",
    "other": "import first\nloud = Loud('other')\nkeep = first.f\n_private = Loud('other private')\n",
}


@pytest.mark.parametrize("imports", [
    "import first", "import third, first", "import other", "import third, second, other",
    "from first import f",
    "import second, atexit; atexit.register(second.held.append, Loud('late'))",
    "import first, sys; del sys.modules['second']", "import other, builtins; builtins.kept = other.keep"])
def test_modules_end_in_the_interpreter_s_order(folder, imports):
    for name, text in MODULES.items():
        folder.script(f"{name}.py", LOUD + text)
    text = f"{LOUD}mine = Loud('mine')\n{imports}\nlast = Loud('last')\n"
    script = folder.script("x.py", text)
    answers_like_plain(script, in_order=ends_in_order())


def ends_in_order():
    """Since Python 3.12 the order of objects in circles depends on when the collector ran before: a plain
    process has another one if it calls gc.collect(0), or imports json, first."""
    return python_version() < (3, 12)


def python_version():
    shown = subprocess.run([PYTHON, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True,
                           text=True, check=True).stdout
    return tuple(map(int, shown.split()))


@pytest.mark.parametrize("switches", [[], ["-Wdefault"], ["-Werror"], ["-X", "dev"]], ids=" ".join)
@pytest.mark.parametrize("text", [
    "file = open('/etc/passwd')", "import json; json.file = open('/etc/passwd')",
    "import socket; s = socket.socket()", "def f(held=open('/etc/passwd')): f.own = f\nf()",
    "import warnings; warnings.simplefilter('default'); file = open('/etc/passwd')",
    "class A: pass\na = A()\na.a = a; a.f = open('/etc/passwd')",
    "import sys; sys.stdout = open('/etc/passwd')",
    "import builtins; builtins.file = open('/etc/passwd')", "import own",
    "async def f(): pass\ncoroutine = f()"])
def test_what_warns_at_the_end_warns_as_the_interpreter_has_it(folder, switches, text):
    if "async" in text and "-Werror" in switches:  # it is shown with its address then
        text = "import sys; sys.unraisablehook = lambda one: None\n" + text
    folder.script("own.py", "file = open('/etc/passwd')\ndef f(): return file\n")
    answers_like_plain(folder.script("x.py", text + "\n"), "json,logging,threading", switches=switches)


def test_a_database_left_open_is_closed(folder):
    script = folder.script("x.py", f"""
import os, sqlite3
database = sqlite3.connect("{folder.path}/database")
database.execute("PRAGMA journal_mode = WAL")
database.execute("CREATE TABLE IF NOT EXISTS t (n)")
database.execute("INSERT INTO t VALUES (1)")
database.commit()
database.execute("INSERT INTO t VALUES (2)")
print(sorted(os.listdir("{folder.path}")), database.execute("SELECT count(*) FROM t").fetchall())
""")
    with python_zygote(script, "sqlite3") as zygote:
        for rows in range(2, 5):
            assert f"[({rows},)]" in zygote.worker().request([script]).text
            assert sorted(os.listdir(folder.path)) == ["database", "x.py"]


def test_what_is_left_open_is_flushed(folder):
    script = folder.script("x.py", f"""
import atexit
class Loud:
    def __del__(self): print("deleted")
loud = Loud(); cycle = [Loud()]; cycle.append(cycle)
import json; json.out = open("{folder.path}/out2", "a"); json.out.write("left\\n")
atexit.register(lambda: print("atexit"))
out = open("{folder.path}/out", "a"); out.write("left open\\n")
print("end")
""")
    with python_zygote(script, "json") as zygote:
        texts = [zygote.worker().request([script]).text for _ in range(2)]
    assert texts == [run_plainly([PYTHON, script]).text] * 2
    assert (folder.path / "out").read_text() == "left open\n" * 3
    assert (folder.path / "out2").read_text() == "left\n" * 3


# Objects that run their own code when they are inspected, and print something.
ANSWERS_BY_ITSELF = {
    "a lazy module": """
import importlib.util, sys
def lazy(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
noisy = lazy("noisy")
""",
    "a kind of a kind": """
class Kind(type):
    def __getattribute__(kind, name):
        print("asked for", name, file=sys.stderr)
        return type.__getattribute__(kind, name)
class Thing(metaclass=Kind):
    pass
thing = Thing()
""",
    "an object in the modules' place": """
class Module:
    def __getattr__(self, name):
        print("asked for", name, file=sys.stderr)
        raise RuntimeError(name)
sys.modules["thing"] = Module()
""",
    "a module of a kind of its own": """
import types
class Module(types.ModuleType):
    def __getattribute__(self, name):
        print("asked for", name, file=sys.stderr)
        return types.ModuleType.__getattribute__(self, name)
thing = sys.modules["thing"] = Module("thing")
""",
}


@pytest.mark.parametrize("ends", ["", "sys.stdout = sys.stderr\n", "import xml.sax.expatreader, numpy\n"])
@pytest.mark.parametrize("name", ANSWERS_BY_ITSELF)
def test_nothing_is_asked_that_answers_by_itself(folder, name, ends):
    folder.script("noisy.py", "import sys; print('loaded', file=sys.stderr); x = 1\n")
    script = folder.script("x.py", "import sys\n" + ANSWERS_BY_ITSELF[name] + ends + "print(1)\n")
    plain = run_plainly(["/usr/bin/python3", script])
    with python_zygote(script) as zygote:
        answers = [zygote.worker().request([script]) for _ in range(2)]
    assert {(answer.stdout, answer.stderr) for answer in answers} == {(plain.stdout, plain.stderr)}


@pytest.mark.parametrize("base", ["object", "str"])
@pytest.mark.parametrize("slots", ["", "__slots__ = ()"])
def test_what_a_module_ahead_holds_ends_with_the_request(folder, base, slots):
    folder.script("holds.py", f"class Held({base}):\n  {slots}\n  def __del__(self): print('ended')\n"
                  "held = Held()\n")
    script = folder.script("x.py", "import sys\nahead = 'holds' in sys.modules\nimport holds\nprint(1)\n"
                           "print(ahead, file=sys.stderr)\n")
    env = {"PYTHONPATH": str(folder.path)}
    plain = run_plainly([PYTHON, script], env={**REQUEST_ENV, **env})
    assert b"ended" in plain.stdout
    with python_zygote(script, "holds", learn="all", env={**LAUNCH_ENV, **env}) as zygote:
        for _ in range(2):
            answer = zygote.worker().request([script], env={**REQUEST_ENV, **env})
            assert (answer.stdout, answer.stderr) == (plain.stdout, b"True\n")
