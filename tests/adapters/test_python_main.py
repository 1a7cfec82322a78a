"""What a Python module sees of the process while it is imported is the same whether it is loaded ahead or by
the script. Where that cannot be, the module is left to the requests."""

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, SHALLOWER, WARNING, Warm, run_plainly
from python import PYTHON, python_argv

SHOW = "import sys\nahead = 'look' in sys.modules\nname = 'script'\nimport look\n%s\nprint(look.seen)\n" \
       "print(ahead, file=sys.stderr)\n"

# What a module may look at. The script may add to it.
SAME = {
    "the script's file": ("import __main__\nseen = __main__.__file__, __main__.__name__, __main__.__spec__, "
                          "__main__.__doc__, __main__.__package__, type(__main__.__loader__)", ""),
    "the module that the script runs in": ("import __main__ as main, sys\nseen = []",
                                           "look.seen = [look.main.name, vars(look.main) is globals(),"
                                           " look.main is sys.modules['__main__'], type(look.main)]"),
    "a name that the script has not": ("import __main__\nseen = hasattr(__main__, '__requires__')", ""),
    "where modules are found": ("import sys\nseen = list(sys.path)", ""),
    "the first word": ("import sys\nseen = sys.argv[0]", ""),
    "who imports it": ("import sys\nframe = sys._getframe()\n"
                       "while frame.f_code.co_filename.startswith('<') or frame.f_globals is globals():\n"
                       "    frame = frame.f_back\n"
                       "seen = frame.f_code.co_filename, frame.f_code.co_name,\\\n"
                       "    frame.f_globals['__name__'], frame.f_globals['__file__']\ndel frame", ""),
}

# What differs from script to script, or stays in the process.
LEFT = {
    "a name of the script": ("import __main__\nseen = getattr(__main__, 'name', None)", "name in __main__"),
    "a name that the script may have": ("import __main__\nseen = hasattr(__main__, 'join')",
                                        "join in __main__"),
    "all names of the script": ("import __main__\nseen = sorted(vars(__main__))", "all of __main__"),
    "a name for the script": ("import __main__\n__main__.given = 7\nseen = 1", "changes __main__"),
    "a name of who imports it": ("import sys\nframe = sys._getframe()\n"
                                 "while frame.f_code.co_filename != sys.argv[0]: frame = frame.f_back\n"
                                 "seen = frame.f_globals.get('name')\ndel frame", "name in __main__"),
    "all names of who imports it": ("import sys\nframe = sys._getframe()\n"
                                    "while frame.f_code.co_filename != sys.argv[0]: frame = frame.f_back\n"
                                    "seen = sorted(frame.f_globals)\ndel frame", "all of __main__"),
    "another script": ("import sys, types\nold = sys.modules['__main__']\n"
                       "sys.modules['__main__'] = types.ModuleType('__main__')\nseen = 1",
                       "changes __main__"),
    "where modules are found": ("import sys\nsys.path.insert(0, '/nowhere')\nseen = list(sys.path)",
                                "changes sys.path"),
    "how errors are shown": ("import sys\nsys.excepthook = print\nseen = 1", "changes sys.excepthook"),
    "a stream": ("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'latin-1',"
                 " line_buffering=True, write_through=True)\nseen = 1", "changes sys.stdout"),
    "how a stream encodes": ("import sys\nsys.stdout.reconfigure(encoding='latin-1')\nseen = 1",
                             "streams' modes"),
    "how a stream fails": ("import sys\nsys.stderr.reconfigure(errors='strict')\nseen = 1", "streams' modes"),
    "how a line ends": ("import sys\nsys.stdout.reconfigure(newline='\\r\\n')\nseen = 1", "end a line"),
    "a built-in name": ("import gettext\ngettext.install('nothing')\nseen = 1", "changes the built-in names"),
    "the limit of recursion": ("import sys\nsys.setrecursionlimit(3000)\nseen = 1", "recursion"),
    "the collector": ("import gc\ngc.disable()\nseen = gc.isenabled()", "collector"),
    "a timeout": ("import socket\nsocket.setdefaulttimeout(7)\nseen = 1", "timeout of sockets"),
    "the environment below os": ("import posix\nseen = sorted(posix.environ)", "lists the environment"),
    "the environment in words": ("import posix\nseen = repr(posix.environ).count('QUERY')",
                                 "lists the environment"),
    "a variable below os": ("import posix\nseen = posix.environ.get(b'QUERY_STRING')", "QUERY_STRING"),
    "the number of variables": ("import os\nseen = len(os.environ)", "lists the environment"),
    "the environment's dictionary": ("import os\nkept = os.environ._data\nseen = 1", "own dictionary"),
    "a variable for children": ("import os\nos.putenv('GIVEN', 'x')\nseen = 1", "writes the environment"),
}
# What the script shows of what a module has left.
TRACES = """
import gc, socket, builtins, os
def caught(step):
    try: return step()
    except Exception as error: return type(error)
left = [sys.path[:2], sys.excepthook is sys.__excepthook__, sys.stdout.encoding, hasattr(builtins, '_'),
        sys.getrecursionlimit(), gc.isenabled(), socket.getdefaulttimeout(), caught(lambda: given),
        '/'.join(['in', 'a'])]
print(left, os.popen('echo $GIVEN').read())
"""


def answers(folder, text, more, reset, switches=()):
    """The zygote's answers, whether each found the module loaded ahead, and its warnings."""
    folder.script("lib/look.py", text + "\n")
    script = folder.script("x.py", SHOW % more)
    env = {"PYTHONPATH": str(folder.path / "lib")}
    plain = run_plainly([PYTHON, *switches, script], env={**REQUEST_ENV, **env})
    assert plain.code == 0, plain.stderr
    line = python_argv(script, "look", switches)
    with Warm(line, level="compiled", reset=reset, env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        zygote.argv = [PYTHON, *switches, script]
        ahead = set()
        for _ in range(2):
            answer = zygote.ask(env={**REQUEST_ENV, **env})
            assert (answer.stdout, answer.code) == (plain.stdout, plain.code)
            ahead.add(answer.stderr)
        return ahead, zygote.note(WARNING)


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", SAME)
def test_a_module_that_is_loaded_ahead_sees_what_it_would_see(folder, kind, reset):
    assert answers(folder, *SAME[kind], reset) == ({b"True\n"}, [])


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", LEFT)
def test_what_depends_on_the_script_or_stays_is_left_to_the_requests(folder, kind, reset):
    text, why = LEFT[kind]
    ahead, warnings = answers(folder, text, TRACES, reset)
    assert ahead == {b"False\n"}
    assert len(warnings) == 1 and why in warnings[0], warnings


def test_a_script_that_defines_names_by_a_star_may_have_any(folder):
    ahead, warnings = answers(folder, "import __main__\nseen = hasattr(__main__, 'sep')",
                              "from os.path import *", "fork")
    assert ahead == {b"False\n"} and "sep in __main__" in warnings[0]


def test_a_script_that_is_alone_has_no_folder_of_modules(folder):
    """-I does not put the script's folder into sys.path."""
    folder.script("lib/look.py", "import sys\nseen = list(sys.path)\n")
    script = folder.script("x.py", "import sys\nsys.path.append(%r)\nimport look\nprint(look.seen)\n"
                           % str(folder.path / "lib"))
    plain = run_plainly([PYTHON, "-I", script])
    with Warm(python_argv(script, "json", ("-I",)), level="compiled", reset="rewind") as zygote:
        zygote.argv = [PYTHON, "-I", script]
        for _ in range(2):
            assert zygote.ask().seen() == plain.seen()


def test_what_the_script_defines_ends_though_a_module_keeps_its_names(folder):
    """The same as in a process of its own: files are flushed, and `__del__` runs."""
    folder.script("lib/look.py", "import __main__ as main\nseen = 1\n")
    script = folder.script("x.py", "import look, sys\nclass Ends:\n    def __del__(self): print('end')\n"
                           "one = Ends()\ndef holds(): return one\nfile = open(sys.argv[1], 'w')\n"
                           "file.write('kept')\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    kept = folder.path / "kept"
    plain = run_plainly([PYTHON, script, str(kept)], env={**REQUEST_ENV, **env})
    for reset in ("fork", "rewind"):
        with Warm(python_argv(script, "look"), level="compiled", reset=reset, env={**LAUNCH_ENV, **env},
                  verify=False) as zygote:
            zygote.argv = [PYTHON, script]
            for _ in range(2):
                kept.write_text("")
                assert zygote.ask(str(kept), env={**REQUEST_ENV, **env}).seen() == plain.seen()
                assert kept.read_text() == "kept"


SITE = {
    "a number": ("import os; key = os.urandom(8).hex()", "random"),
    "a time": ("import time; key = time.time()", "time"),
    "a moment": ("import time; key = time.monotonic()", "time"),
    "a pid": ("import os; key = os.getpid()", "process id"),
    "a child": ("import os; key = os.system('true')", "process"),
}


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize"])
@pytest.mark.parametrize("kind", SITE)
def test_what_the_machine_s_own_start_of_python_does_is_noticed(folder, kind, name):
    text, why = SITE[kind]
    folder.script(f"lib/{name}.py", text + "\n")
    script = folder.script("x.py", f"import {name}\nprint({name}.key)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    with Warm(python_argv(script, "json"), level="compiled", env={**LAUNCH_ENV, **env}) as zygote:
        assert not zygote.stands
        assert why in zygote.note(SHALLOWER)[0] and name in zygote.note(SHALLOWER)[0]


def test_a_start_of_python_that_is_pure_costs_nothing(folder):
    folder.script("lib/sitecustomize.py", "import json, sys\nsys.path.append('/nowhere')\nkey = 7\n")
    script = folder.script("x.py", "import sitecustomize, sys\nprint(sitecustomize.key, sys.path)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    plain = run_plainly([PYTHON, script], env={**REQUEST_ENV, **env})
    with Warm(python_argv(script, "json"), level="compiled", env={**LAUNCH_ENV, **env}) as zygote:
        zygote.argv = [PYTHON, script]
        assert zygote.ask(env={**REQUEST_ENV, **env}).seen() == plain.seen()
