"""What a module would change outside while it is loaded ahead is not changed for nobody: it is left to the
requests, each of which does it once, as a process of its own does."""

import os
import signal
import socket
import subprocess

import pytest

from driver import FILE, LAUNCH_ENV, REQUEST_ENV, SHALLOWER, WARNING, Warm, adapters_dir, run_plainly
from python import PYTHON, python_argv
from ruby import RUBY, command
from test_tcl import TCLSH, library_of, package

COMPILED = 3
TIMES = 2
HIT = "printf 'hit ' >>LOG"


class Outside:
    """What others have noticed: files, datagrams and connections, and signals that this process got."""

    def __init__(self, folder):
        self.log, self.signals = folder / "log", 0
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "socket"))
        self.server = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.server.setblocking(False)
        signal.signal(signal.SIGUSR1, self.take_signal)

    def take_signal(self, *_):
        self.signals += 1

    def text(self, text):
        words = {"LOG": self.log, "SOCKET": self.log.parent / "socket", "PID": os.getpid(),
                 "PORT": self.server.getsockname()[1]}
        for name, value in words.items():
            text = text.replace(name, str(value))
        return text

    def taken(self, take):
        while True:
            try:
                yield take()
            except BlockingIOError:
                return

    def noticed(self):
        """Since the last time."""
        messages = [*self.taken(lambda: self.socket.recv(99)),
                    *self.taken(lambda: self.server.accept()[0].close())]
        text, files = "", sorted(self.log.parent.glob("log*"))
        for file in files:
            text += f"{file.name}: " + ("" if file.suffix else file.read_text())
            file.unlink()
        signals, self.signals = self.signals, 0
        return text, messages, signals


NOTHING = "", [], 0


@pytest.fixture
def outside(tmp_path):
    outside = Outside(tmp_path)
    yield outside
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    outside.socket.close()
    outside.server.close()


def each_request_does_it(outside, line, plain_line, env, launch_env=None, left_out=1, reset="rewind"):
    """Returns the warnings."""
    plain = run_plainly(plain_line, env={**REQUEST_ENV, **env})
    once = outside.noticed()
    assert once != NOTHING and plain.code == 0, plain.seen()
    with Warm(line, level="compiled", reset=reset, env={**(launch_env or {}), **LAUNCH_ENV, **env},
              verify=False) as zygote:
        assert zygote.stands and zygote.level == COMPILED, (zygote.notes, zygote.log())
        assert outside.noticed() == NOTHING
        warnings = zygote.note(WARNING)
        assert len(warnings) == left_out, warnings
        zygote.argv = plain_line
        for _ in range(TIMES):
            assert zygote.ask(env={**REQUEST_ENV, **env}).seen() == plain.seen()
            assert outside.noticed() == once
    return warnings


def nothing_is_done(outside, line, env, launch_env=None):
    """No zygote stands, and the program runs without one."""
    with Warm(line, level="compiled", env={**(launch_env or {}), **LAUNCH_ENV, **env}) as zygote:
        assert not zygote.stands, zygote.notes
        assert outside.noticed() == NOTHING
        return zygote.note(SHALLOWER)[0]


# -- Python --------------------------------------------------------------------------------------------

PYTHON_EFFECTS = {
    "a line of a file": "open('LOG', 'a').write('hit ')",
    "a line of a file, after a time and a number": (
        "import os, random, time\nkept = time.time(), os.urandom(4), random.random()\n"
        "with open('LOG', 'a') as file: file.write('hit ')"),
    "a folder": "import os\nos.mkdir('LOG.d'); os.rmdir('LOG.d'); open('LOG', 'a').write('hit ')",
    "a command": f"import os\nos.system(\"{HIT}\")",
    "a program": f"import subprocess\nsubprocess.run(['sh', '-c', \"{HIT}\"])",
    "a child": ("import os\nif os.fork() == 0:\n    with open('LOG', 'a') as file: file.write('hit ')\n"
                "    os._exit(0)\nos.wait()"),
    "a file, by a thread": ("import threading\ndef write(): open('LOG', 'a').write('hit ')\n"
                            "one = threading.Thread(target=write)\none.start(); one.join()"),
    "a file, by ctypes": ("import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.write(libc.open("
                          "b'LOG', os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), b'hit ', 4)"),
    "a file, and another environment": (
        "import os\nos.environ['HOME'] = '/'; os.umask(0o77); os.chdir('/usr')\n"
        "open('LOG', 'a').write('hit ')"),
    "a database": ("import sqlite3\nwith sqlite3.connect('LOG.db') as base: base.execute("
                   "'create table if not exists t (n)')\nopen('LOG', 'a').write('hit ')"),
    "a datagram": "import socket\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'hit', 'SOCKET')",
    "a connection": ("import socket\none = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                     "one.connect('SOCKET'); one.send(b'hit')"),
    "a signal": "import os, signal\nos.kill(PID, signal.SIGUSR1)",
    "a signal by a descriptor": ("import os, signal\n"
                                 "signal.pidfd_send_signal(os.pidfd_open(PID), signal.SIGUSR1)"),
    "another program": f"import os\nos.execv('/bin/sh', ['sh', '-c', \"{HIT}; echo other\"])",
    "another program, by a number": (
        "import ctypes\nwords = (ctypes.c_char_p * 4)(b'sh', b'-c', "
        f"b\"{HIT}; echo other\", None)\nctypes.CDLL(None).syscall(59, b'/bin/sh', words, None)"),
    "a file, by another libc": (
        "import ctypes\nfrom ctypes import c_void_p, c_char_p, c_int\nours = ctypes.CDLL(None)\n"
        "ours.dlmopen.restype = ours.dlsym.restype = c_void_p\n"
        "theirs = c_void_p(ours.dlmopen(ctypes.c_long(-1), b'libc.so.6', 2))\n"
        "creat = ctypes.CFUNCTYPE(c_int, c_char_p, c_int)(ours.dlsym(theirs, b'creat'))\n"
        "creat(b'LOG', 0o600)"),
}
SHOWS = "import os, sys\nimport own\nprint(os.getcwd(), os.environ.get('HOME'), sys.argv)\n"


def python_env(folder):
    return {"PYTHONPATH": str(folder.path / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.parametrize("effect", PYTHON_EFFECTS)
def test_python(folder, outside, effect):
    folder.script("lib/own.py", outside.text(PYTHON_EFFECTS[effect]) + "\n")
    script = folder.script("x.py", SHOWS)
    line, = each_request_does_it(outside, python_argv(script, "json,own,decimal"), [PYTHON, script],
                                 python_env(folder))
    assert line.startswith("own is not loaded ahead: it ") and line.endswith(" while it is imported"), line


@pytest.mark.parametrize("effect, why", [
    ("os.setpriority(os.PRIO_PROCESS, PID, 5)", "acts on another process (setpriority"),
    ("import resource; resource.prlimit(PID, resource.RLIMIT_CORE, (0, 0))",
     "acts on another process (prlimit"),
    ("os.sched_setaffinity(PID, {0})", "acts on another process (sched_setaffinity"),
    ("import fcntl; fcntl.ioctl(os.open(__file__, 0), 0x40086602, b'\\0' * 8)", "changes files (ioctl")])
def test_what_python_changes_of_others(folder, effect, why):
    with subprocess.Popen(["sleep", "60"]) as other:
        folder.script("lib/own.py", "import os\n" + effect.replace("PID", str(other.pid)) + "\n")
        script = folder.script("x.py", SHOWS)
        env = {**LAUNCH_ENV, **python_env(folder)}
        with Warm(python_argv(script, "own"), level="compiled", env=env) as zygote:
            assert zygote.stands and why in zygote.note(WARNING)[0], zygote.notes
        assert os.getpriority(os.PRIO_PROCESS, other.pid) == os.getpriority(os.PRIO_PROCESS, 0)
        other.kill()


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_python_modules_that_load_one_another(folder, outside, reset):
    """Those that load it are left out, too, and nothing is written while that is found out."""
    folder.script("lib/own.py", outside.text(PYTHON_EFFECTS["a line of a file"]))
    folder.script("lib/over.py", "import own\n")
    folder.script("lib/beside.py", "import json\n")
    script = folder.script("x.py", "import sys\nahead = 'beside' in sys.modules\nimport over, beside\n"
                           "print(ahead or 'HTTP_WARM' not in __import__('os').environ)\n")
    each_request_does_it(outside, python_argv(script, "own,over,beside"), [PYTHON, script],
                         python_env(folder), left_out=2, reset=reset)


def test_a_python_module_beside_the_script(folder, outside):
    folder.script("own.py", outside.text(PYTHON_EFFECTS["a line of a file"]))
    script = folder.script("x.py", SHOWS)
    with Warm(python_argv(script, "own"), level="compiled", env=LAUNCH_ENV, learn="all") as zygote:
        assert zygote.stands and outside.noticed() == NOTHING
        assert "own is not loaded ahead: it changes files" in zygote.note(WARNING)[0]
        zygote.argv = [PYTHON, script]
        zygote.ask()
    assert outside.noticed() == ("log: hit ", [], 0)


def test_python_if_the_operator_accepts_it(folder, outside):
    folder.script("lib/own.py", outside.text(PYTHON_EFFECTS["a line of a file"]))
    script = folder.script("x.py", SHOWS)
    env = {**LAUNCH_ENV, **python_env(folder)}
    with Warm(python_argv(script, "own"), level="compiled", env=env, accept="files") as zygote:
        assert zygote.stands and not zygote.note(WARNING)
        assert outside.noticed() == ("log: hit ", [], 0)


def test_what_python_collects_at_its_checkpoint(folder, outside):
    """The end of what a module has left."""
    folder.script("lib/own.py", outside.text(
        "class Left:\n    def __del__(self): open('LOG', 'a').write('hit ')\n"
        "import gc; gc.disable()\nleft = Left(); left.itself = left; del left\ngc.enable()\n"))
    script = folder.script("x.py", SHOWS)
    why = nothing_is_done(outside, python_argv(script, "own"), python_env(folder))
    assert why.startswith("changes files (open") and why.endswith("after its modules are imported"), why


@pytest.mark.parametrize("name", ["sitecustomize.py", "usercustomize.py"])
@pytest.mark.parametrize("effect", ["a line of a file", "a folder", "a command", "a datagram", "a signal"])
def test_what_python_runs_by_itself(folder, outside, name, effect):
    folder.script(f"lib/{name}", outside.text(PYTHON_EFFECTS[effect]) + "\n")
    script = folder.script("x.py", SHOWS)
    env = {"PYTHONPATH": str(folder.path / "lib"), "HOME": str(folder.path)}
    why = nothing_is_done(outside, python_argv(folder.script("x.py", "print(1)\n")), env)
    assert why.endswith(" in sitecustomize, usercustomize or a .pth file"), why
    assert run_plainly([PYTHON, script], env={**REQUEST_ENV, **env}).code == 0
    assert outside.noticed() != NOTHING


def test_python_may_keep_what_it_compiles_before_its_adapter_runs(folder, outside):
    folder.script("lib/sitecustomize.py", "import beside\n")
    folder.script("lib/beside.py", "word = 'fine'\n")
    script = folder.script("x.py", "import beside\nprint(beside.word)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    with Warm(python_argv(script), level="compiled", env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.stands and zygote.level == COMPILED, zygote.notes
        assert list((folder.path / "lib").glob("__pycache__/beside.*.pyc"))
        zygote.argv = [PYTHON, script]
        assert zygote.ask(env={**REQUEST_ENV, **env}).text == "fine\n"


# -- Ruby ----------------------------------------------------------------------------------------------

RUBY_EFFECTS = {
    "a line of a file": "File.write('LOG', 'hit ', mode: 'a')",
    "a line of a file, after a time and a number": (
        "KEPT = [Time.now, rand, Random.urandom(4)]; File.open('LOG', 'a') { |file| file << 'hit ' }"),
    "a folder": "Dir.mkdir('LOG.d'); Dir.rmdir('LOG.d'); File.write('LOG', 'hit ', mode: 'a')",
    "a command": f"system(\"{HIT}\")",
    "an answer of a command": f"`{HIT}`",
    "a spawned child": f"Process.wait(spawn(\"{HIT}\"))",
    "a child": "Process.wait(fork { File.write('LOG', 'hit ', mode: 'a'); exit! })",
    "a file, by a thread": "Thread.new { File.write('LOG', 'hit ', mode: 'a') }.join",
    "a file, by creat()'s number": "syscall(85, 'LOG', 0600)",
    "a file, and another environment": (
        "ENV['HOME'] = '/'; File.umask(077); Dir.chdir('/usr'); File.write('LOG', 'hit ', mode: 'a')"),
    "a datagram": ("require 'socket'; one = Socket.new(:UNIX, :DGRAM)\n"
                   "one.send('hit', 0, Socket.sockaddr_un('SOCKET'))"),
    "a connection": ("require 'socket'; one = Socket.new(:UNIX, :DGRAM)\n"
                     "one.connect(Socket.sockaddr_un('SOCKET')); one.send('hit', 0)"),
    "a signal": "Process.kill(:USR1, PID)",
    "another program": f"exec('/bin/sh', '-c', \"{HIT}; echo other\")",
}
of_ruby = pytest.mark.skipif(not os.path.exists(RUBY), reason="ruby is not installed")


def ruby_env(folder):
    return {"RUBYLIB": f"{folder.path}/installed"}


@of_ruby
@pytest.mark.parametrize("effect", RUBY_EFFECTS)
def test_ruby(folder, outside, effect):
    folder.script("installed/own.rb", outside.text(RUBY_EFFECTS[effect]) + "\n")
    script = folder.script("x.rb", "require 'own'\nputs Dir.pwd, ENV['HOME'].inspect, ARGV.inspect\n")
    line, = each_request_does_it(outside, command(script, preload="json,own,set"), [RUBY, script],
                                 ruby_env(folder))
    assert line.startswith("own is not loaded ahead: it ") and line.endswith(" while it is loaded"), line
    by_thread = "thread" in effect
    assert by_thread or f"{folder.path}/installed/own.rb line" in line or "exec" in line, line


@of_ruby
@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_ruby_libraries_that_load_one_another(folder, outside, reset):
    folder.script("installed/own.rb", outside.text(RUBY_EFFECTS["a line of a file"]))
    folder.script("installed/over.rb", "require 'own'\n")
    script = folder.script("x.rb", "require 'over'\nputs 1\n")
    each_request_does_it(outside, command(script, preload="own,over,json"), [RUBY, script],
                         ruby_env(folder), left_out=2, reset=reset)


@of_ruby
@pytest.mark.parametrize("effect", ["a line of a file", "a folder", "a command", "a datagram", "a signal"])
def test_ruby_libraries_of_the_first_line(folder, outside, effect):
    folder.script("installed/own.rb", outside.text(RUBY_EFFECTS[effect]) + "\n")
    script = folder.script("x.rb", "puts 1\n")
    why = nothing_is_done(outside, command(script, "-rown"), ruby_env(folder))
    assert why.endswith(" before it runs"), why
    assert run_plainly([RUBY, "-rown", script], env={**REQUEST_ENV, **ruby_env(folder)}).code == 0
    assert outside.noticed() != NOTHING


@of_ruby
def test_what_ruby_collects_at_its_checkpoint(folder, outside):
    """The end of what a library has left."""
    folder.script("installed/own.rb", outside.text(
        "def hit = proc { File.write('LOG', 'hit ', mode: 'a') }\n"
        "def leave = ObjectSpace.define_finalizer(Object.new, hit)\n"
        "GC.disable; 9.times { leave }; GC.enable\n"))
    script = folder.script("x.rb", "puts 1\n")
    why = nothing_is_done(outside, command(script, preload="own"), ruby_env(folder))
    assert why.startswith("changes files (open") and why.endswith("after its libraries are loaded"), why


# -- Tcl -----------------------------------------------------------------------------------------------

TCL_EFFECTS = {
    "a line of a file": "set file [open LOG a]; puts -nonewline $file {hit }; close $file",
    "a line of a file, after a time and a number": (
        "set kept [list [clock microseconds] [expr {rand()}]]\n"
        "set file [open LOG a]; puts -nonewline $file {hit }; close $file"),
    "a folder": ("file mkdir LOG.d; file delete LOG.d\n"
                 "set file [open LOG a]; puts -nonewline $file {hit }; close $file"),
    "a command": f"exec sh -c {{{HIT}}}",
    "a child that stays": f"set pipe [open {{|sh -c \"{HIT}\"}}]; read $pipe; close $pipe",
    "a file, by another interpreter": (
        "set inner [interp create]\n"
        "$inner eval {set file [open LOG a]; puts -nonewline $file {hit }; close $file}\n"
        "interp delete $inner"),
    "a file, and another environment": (
        "set ::env(HOME) /; cd /usr\nset file [open LOG a]; puts -nonewline $file {hit }; close $file"),
    "a file's mode": "close [open LOG a]; file attributes LOG -permissions 0640",
    "a connection": "close [socket 127.0.0.1 PORT]",
    "a signal": "exec kill -USR1 PID",
}
of_tcl = pytest.mark.skipif(not os.path.exists("/usr/bin/tclsh8.6"), reason="tclsh8.6 is not installed")
SHOWS_TCL = "package require own\nputs [list [pwd] [info exists env(HOME)] $argv]\n"


def tcl_launch(*names):
    return {"TCL_LIBRARY": f"{adapters_dir()}/tcl", "CGIBRIDGE_PRELOAD": ",".join(names)}


@of_tcl
@pytest.mark.parametrize("effect", TCL_EFFECTS)
def test_tcl(folder, outside, effect):
    package(folder, "own", outside.text(TCL_EFFECTS[effect]))
    package(folder, "beside", "proc beside {} {}")
    script = folder.script("cgi/x.tcl", SHOWS_TCL)
    line, = each_request_does_it(outside, [TCLSH, script], [TCLSH, script], library_of(folder),
                                 tcl_launch("beside/1.0", "own/1.0", "clock.tcl"))
    assert line.startswith("own/1.0 is not loaded ahead: it ") and line.endswith(" while it is loaded"), line


@of_tcl
@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_tcl_packages_that_load_one_another(folder, outside, reset):
    package(folder, "own", outside.text(TCL_EFFECTS["a line of a file"]))
    package(folder, "over", "package require own")
    script = folder.script("cgi/x.tcl", "package require over\nputs [package present own]\n")
    each_request_does_it(outside, [TCLSH, script], [TCLSH, script], library_of(folder),
                         tcl_launch("own/1.0", "over/1.0"), left_out=2, reset=reset)


# -- A folder that is there ----------------------------------------------------------------------------

def python_that_needs(folder, needed):
    folder.script("lib/own.py", f"import os\nos.makedirs('{needed}', exist_ok=True)\n")
    script = folder.script("x.py", "import sys\nprint('own' in sys.modules)\nimport own\n")
    return python_argv(script, "own"), [PYTHON, script], python_env(folder)


def ruby_that_needs(folder, needed):
    folder.script("installed/own.rb", f"begin; Dir.mkdir('{needed}'); rescue SystemCallError; end\n")
    text = "puts $LOADED_FEATURES.any? { |f| f.end_with?('/own.rb') }.to_s.capitalize\nrequire 'own'\n"
    script = folder.script("x.rb", text)
    return command(script, preload="own"), [RUBY, script], ruby_env(folder)


@pytest.mark.parametrize("language", [pytest.param(python_that_needs, id="python"),
                                      pytest.param(ruby_that_needs, id="ruby", marks=of_ruby)])
@pytest.mark.parametrize("is_there", [True, False])
def test_no_folder_is_made_where_one_is(folder, language, is_there):
    """So the module stays ahead, but only as long as the folder is there."""
    needed = folder.path / "needed"
    if is_there:
        needed.mkdir()
    line, plain, env = language(folder, needed)
    with Warm(line, level="compiled", env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.stands and needed.exists() == is_there, zygote.log()
        assert bool(zygote.note(WARNING)) != is_there
        assert f"{needed}/\n" in "\n".join(zygote.note(FILE)) + "\n" or not is_there
        zygote.argv = plain
        for _ in range(TIMES):
            assert zygote.ask(env={**REQUEST_ENV, **env}).text == f"{is_there}\n" and needed.exists()
            if not is_there:
                needed.rmdir()


def test_a_constructor_makes_no_folder_where_one_is(folder):
    program = folder.compile("needs.c", r'''
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
static int result, why;
__attribute__((constructor)) static void early(void) { result = mkdir("NEEDED", 0700); why = errno; }
int main() { printf("%d %d\n", result, why); return 0; }
'''.replace("NEEDED", str(folder.path)))
    with Warm([program]) as zygote:
        assert zygote.stands, zygote.notes
        assert zygote.ask().seen() == run_plainly([program]).seen()
