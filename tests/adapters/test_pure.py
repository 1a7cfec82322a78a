"""Anything that a program does while a module is loaded in advance is done once for all its visitors. So only
pure modules are loaded in advance, and impure ones are loaded in each request, as always."""

import os

import pytest

from driver import (FILE, LAUNCH_ENV, LEVEL, REQUEST_ENV, SHALLOWER, WARNING, Warm, adapters_dir,
                    library, run_plainly)

PERL = "/usr/bin/perl"
TIMES = 4


def perl_zygote(script, *switches, modules=(), reset="rewind", accept="", **more):
    ours = "-MCGIBridge" + ("=" + ",".join(modules) if modules else "")
    zygote = Warm([PERL, f"-I{adapters_dir()}/perl", ours, *switches, script], level="compiled",
                  reset=reset, accept=accept, **more)
    zygote.argv = [PERL, *switches, script]
    return zygote


# The text of a module or a script, and the word that names the reason why it is left to the requests.
IMPURE = {
    "a key": ("our $key = do { open my $f, '<', '/dev/urandom' or die; read $f, my $k, 8; unpack 'H*', $k };",
              "random"),
    "rand": ("our $key = rand;", "random"),
    "a time": ("our $key = do { time };", "time"),
    "a time since the start of HiRes": (
        "use Time::HiRes; our $key = Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC());", "time"),
    "processor time": ("our $key = 'used' . join ' ', (times)[0];", "time"),
    "a thread's id by number": ("our $key = syscall(186) > 0;", "process id"),
    "the machine's age by number": ("my $b = 'x' x 200; our $key = syscall(99, $b) == 0;", "time"),
    "processor time of POSIX": ("use POSIX (); our $key = POSIX::clock();", "time"),
    "a time of HiRes": ("use Time::HiRes; our $key = Time::HiRes::time();", "time"),
    "perl's start": ("our $key = $^T;", "$^T"),
    "a pid": ("our $key = do { $$ };", "process id"),
    "a child": ("our $key = `echo hello`;", "process"),
    "a system": ("our $key = system('true');", "process"),
    "its input": ("our $key = do { sysread STDIN, my $t, 9; $t };", "input"),
    "whether there is input": ("our $key = do { my $r = ''; vec($r, 0, 1) = 1; select $r, undef, undef, 0 };",
                               "input"),
    "its threads": ("our $key = do { opendir my $d, '/proc/self/task'; (grep { /\\d/ } readdir $d)[0] };",
                    "process id"),
    "output": ("$| = 1; print \"X-Early: yes\\n\"; our $key = 1;", "prints"),
    "a word on stderr": ("print STDERR \"early\\n\"; our $key = 1;", "prints"),
    "a socket": ("use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0); "
                 "connect($s, sockaddr_in(9, inet_aton('127.0.0.1'))); our $key = 1;", "connection"),
    "a file": ("mkdir '/tmp/cgibridge-test-pure'; rmdir '/tmp/cgibridge-test-pure'; our $key = 1;",
               "changes files"),
    "the request": ("our $key = $ENV{QUERY_STRING};", "QUERY_STRING"),
    "all variables": ("our $key = join '', map { \"$_=$ENV{$_}\" } sort grep { !/^_$/ } keys %ENV;",
                      "%ENV"),
}
DIFFERS_EACH_TIME = ("a key", "rand", "a time of HiRes", "a time since the start of HiRes")
SHOWS = ("print \"Content-Type: text/plain\\n\\n\", $main::key // $Own::key // $Impure::key // 'none', ' ',"
         " 2, \"\\n\";\n")


def is_stable(text):
    """Whether a separate process gives the same answer twice."""
    return text not in (*DIFFERS_EACH_TIME, "a time", "a pid", "its threads", "perl's start",
                        "processor time", "processor time of POSIX")


def each_is_its_own(zygote, plain, kind, reset):
    answers = [zygote.ask() for _ in range(TIMES)]
    for answer in answers:
        assert (answer.code, len(answer.stdout.split())) == (plain.code, len(plain.stdout.split()))
        assert answer.stderr == plain.stderr
        if is_stable(kind):
            assert answer.stdout == plain.stdout
    if kind in DIFFERS_EACH_TIME:
        assert len({answer.text for answer in answers}) == TIMES
    if kind == "a pid" and reset == "fork":
        assert len({answer.text for answer in answers}) == TIMES


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", IMPURE)
class TestPerl:
    def test_a_script_that_does_it_while_compiling_is_compiled_in_each_request(self, folder, kind, reset):
        text, why = IMPURE[kind]
        script = folder.script("x.pl", "use POSIX ();\nBEGIN { " + text + " }\n" + SHOWS)
        plain = run_plainly([PERL, script])
        with perl_zygote(script, reset=reset) as zygote:
            assert zygote.stands, (zygote.notes, zygote.log())
            assert zygote.level == 2, zygote.notes
            assert why in zygote.note(LEVEL)[0], zygote.notes
            each_is_its_own(zygote, plain, kind, reset)

    def test_a_module_of_its_own_that_does_it_is_loaded_in_each_request(self, folder, kind, reset):
        text, why = IMPURE[kind]
        folder.script("Own.pm", f"package Own;\n{text}\n1;\n")
        script = folder.script("x.pl", "use FindBin; use lib $FindBin::Bin;\nuse POSIX ();\nuse Own;\n"
                               + SHOWS)
        plain = run_plainly([PERL, script])
        with perl_zygote(script, reset=reset) as zygote:
            assert zygote.stands, (zygote.notes, zygote.log())
            assert zygote.level == 2 and why in zygote.note(LEVEL)[0], zygote.notes
            each_is_its_own(zygote, plain, kind, reset)

    def test_an_installed_module_that_does_it_is_not_loaded_ahead(self, folder, kind, reset):
        text, why = IMPURE[kind]
        folder.script("lib/Impure.pm", f"package Impure;\n{text}\n1;\n")
        folder.script("lib/Pure.pm", "package Pure;\nour $count = 1; 1;\n")
        script = folder.script("x.pl", "my $there = exists $INC{'Pure.pm'}; require Impure; require Pure;\n"
                               "print STDERR 'not ahead' unless $there || !exists $ENV{HTTP_WARM};\n" + SHOWS)
        env = {**LAUNCH_ENV, "PERL5LIB": str(folder.path / "lib")}
        request = {**REQUEST_ENV, "PERL5LIB": str(folder.path / "lib")}
        plain = run_plainly([PERL, script], env=request)
        with perl_zygote(script, modules=("Impure", "Pure"), reset=reset, env=env) as zygote:
            assert zygote.level == 3, zygote.notes
            assert any("Impure" in text and why in text for text in zygote.note(WARNING)), zygote.notes
            answers = [zygote.ask(env={**request, "HTTP_WARM": "1"}) for _ in range(TIMES)]
            assert {answer.stderr for answer in answers} == {plain.stderr}
            if kind in DIFFERS_EACH_TIME:
                assert len({answer.text for answer in answers}) == TIMES


# What a module leaves in the process. A script leaves its own effects to each of its requests; but a module
# that is loaded in advance would leave its effects to requests that do not load it, or cost all of them the
# level.
LEAVES = {
    "the mask of modes": ("umask 0777;", "mask"),
    "a handler": ("$SIG{USR1} = sub { };", "signal"),
    "an ignored signal": ("$SIG{INT} = 'IGNORE';", "signal"),
    "a lock": ("open my $f, '<', __FILE__; flock $f, 1;", "flock"),
    "a mode": ("chmod 0644, __FILE__;", "changes files"),
    "a child": ("open our $h, '-|', 'sleep 50';", "process"),
    "the folder": ("chdir '/usr';", "folder"),
    "an alarm": ("alarm 100;", "a timer runs"),
    "a pipe's end": ("pipe our $r, my $w; close $w;", "a pipe"),
    "a socket": ("use Socket; socketpair our $r, our $w, AF_UNIX, SOCK_STREAM, 0;", "not a file"),
    "its priority": ("use POSIX (); POSIX::nice(1);", "priority"),
    "the words": ("our @words = @ARGV;", "@ARGV"),
    "the number of words": ("our $count = scalar @ARGV;", "@ARGV"),
    "a shifted word": ("our $word = shift @ARGV;", "@ARGV"),
    "a datagram": ("use Socket; socket my $s, PF_INET, SOCK_DGRAM, 0;"
                   " send $s, 'x', 0, sockaddr_in(9, inet_aton('127.0.0.1'));", "connection"),
}


def cannot_be_taken_back(kind, zygote):
    """Only root raises its priority again."""
    if os.getuid() == 0 or kind != "its priority":
        return False
    assert not zygote.stands and "cannot be taken back" in zygote.note(SHALLOWER)[0]
    return True


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", LEAVES)
def test_a_perl_module_that_leaves_something_is_not_loaded_ahead(folder, kind, reset):
    text, why = LEAVES[kind]
    folder.script("lib/Leaves.pm", f"package Leaves;\n{text}\n1;\n")
    folder.script("lib/Pure.pm", "package Pure;\n1;\n")
    script = folder.script("x.pl", "use Cwd ();\nprint join(' ', umask, Cwd::getcwd(), getpriority(0, 0),"
                           " map { $_ // '' } @SIG{qw(USR1 INT)}), \"@ARGV\\n\";\n")
    env = {"PERL5LIB": str(folder.path / "lib")}
    plain = run_plainly([PERL, script, "a", "b"], env={**REQUEST_ENV, **env})
    with perl_zygote(script, modules=("Leaves", "Pure"), reset=reset, env={**LAUNCH_ENV, **env}) as zygote:
        if cannot_be_taken_back(kind, zygote):
            return
        assert zygote.stands and zygote.level == 3, zygote.notes
        assert any("Leaves" in text and why in text for text in zygote.note(WARNING)), zygote.notes
        files = "\n".join(zygote.note(FILE))
        assert "lib/Pure.pm" in files and "lib/Leaves.pm" not in files
        for _ in range(2):
            assert zygote.ask("a", "b", env={**REQUEST_ENV, **env}).seen() == plain.seen()


@pytest.mark.parametrize("text", ["our @kept = @ARGV;", "our @kept = (shift @ARGV, $#ARGV);",
                                  "our @kept = (scalar @ARGV);"])
def test_words_that_a_script_looked_at_while_compiling_start_it_anew(folder, text):
    script = folder.script("x.pl", f"BEGIN {{ {text} }}\nprint \"@kept @ARGV\\n\";\n")
    with perl_zygote(script) as zygote:
        for words in ([], ["a", "b"], []):
            assert zygote.ask(*words).seen() == run_plainly([PERL, script, *words]).seen()


def test_a_tainted_script_that_does_it_is_compiled_in_each_request(folder):
    script = folder.script("x.pl", "use POSIX ();\nBEGIN { $t = time }\n"
                           "print ${^TAINT}, exists $INC{'POSIX.pm'}, $ENV{QUERY_STRING} // '', \"\\n\";\n")
    plain = run_plainly([PERL, "-T", script])
    with perl_zygote(script, "-T", modules=("Text::Wrap",)) as zygote:
        assert zygote.stands and zygote.level == 2, (zygote.notes, zygote.log())
        assert [zygote.ask().seen() for _ in range(TIMES)] == [plain.seen()] * TIMES


@pytest.mark.parametrize("text", ["eval { symlink '', '' }", "eval { link '', 'x' }",
                                  "open my $f, '>', '/dev/null'; flock $f, 0"])
def test_finding_out_whether_there_is_a_call_changes_nothing(folder, text):
    """As perlfunc says it for symlink, and as Archive::Zip and DBD::File do it."""
    folder.script("Own.pm", f"package Own;\nour $can = do {{ {text}; 1 }};\n1;\n")
    script = folder.script("x.pl", "use FindBin; use lib $FindBin::Bin;\nuse Own;\nprint $Own::can;\n")
    with perl_zygote(script) as zygote:
        assert zygote.level == 3 and zygote.note(LEVEL) == [], zygote.notes
        assert zygote.ask().text == "1"


def test_the_place_is_named(folder):
    folder.script("Own.pm", "package Own;\n\nour $key = do { time };\n1;\n")
    script = folder.script("x.pl", "use FindBin; use lib $FindBin::Bin;\nuse Own;\nprint 1;\n")
    with perl_zygote(script) as zygote:
        assert f"asks for the time (time, at {folder.path}/Own.pm line 3)" in zygote.note(LEVEL)[0]


def test_perl_starts_over_once_for_all_that_is_impure(folder):
    """Also if the impure module is loaded through others: after one start, all of them are known."""
    count = 12
    for n in range(count):
        uses = f"use M{n + 1};" if n + 1 < count else "$ENV{PATH} .= ':'; our $key = time;"
        folder.script(f"lib/M{n}.pm", f"package M{n}; {uses}\n1;\n")
    folder.script("lib/Pure.pm", "package Pure; use constant ONE => 1; 1;\n")
    starts = folder.path / "starts"
    script = folder.script("x.pl", f"BEGIN {{ open my $f, '>>', '{starts}'; print $f 'x' }} require M0;\n"
                           "print exists $INC{'Pure.pm'} ? 1 : 0;\n")
    env = {**LAUNCH_ENV, "PERL5LIB": str(folder.path / "lib")}
    modules = [f"M{n}" for n in reversed(range(count))] + ["Pure"]
    with perl_zygote(script, modules=modules, env=env, accept="files") as zygote:
        assert zygote.level == 3, zygote.notes
        assert len(zygote.note(WARNING)) == count
        assert zygote.ask(env={**REQUEST_ENV, "PERL5LIB": str(folder.path / "lib")}).text == "1"
    assert starts.read_text() == "xx"


# Time::Local is in half of all programs that handle dates; it reads the clock once, for the year.
DATES = ("use strict; use Time::Local; use HTTP::Nothing;\n"
         "print join(' ', timegm(1, 2, 3, 4, 5, 124), $HTTP::Nothing::count), \"\\n\";\n")

A_YEAR_LATER = r"""
#include <time.h>
#include <unistd.h>
time_t time(time_t *kept) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time_t told = now.tv_sec + (access("%s", F_OK) == 0 ? 366 * 86400 : 0);
  if (kept) *kept = told;
  return told;
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_time_local_is_loaded_ahead_until_the_year_is_over(folder, reset):
    later = folder.path / "later"
    shim = folder.compile("clock.c", A_YEAR_LATER % later, "-shared", "-fPIC")
    folder.script("lib/HTTP/Nothing.pm", "package HTTP::Nothing; use Time::Local; our $count = 7; 1;\n")
    script = folder.script("x.pl", DATES)
    env = {"PERL5LIB": str(folder.path / "lib")}
    with perl_zygote(script, reset=reset, env={**LAUNCH_ENV, **env}, preload=f"{library()}:{shim}") as zygote:
        assert zygote.level == 3, zygote.notes
        for _ in range(TIMES):
            assert zygote.ask(env={**REQUEST_ENV, **env}).text == "1717470121 7\n"
        later.touch()
        answer = zygote.ask(env={**REQUEST_ENV, **env})
        assert answer.text == "1717470121 7\n" and not answer.stays
        assert [text for kind, text in answer.notes if kind == SHALLOWER] == [
            "the year (by Time::Local) was read while compiling, and the request's differs"]


def test_a_time_local_of_the_program_s_own_is_watched(folder):
    folder.script("Time/Local.pm", "package Time::Local;\nour $key = do { time };\n1;\n")
    script = folder.script("x.pl", "use FindBin; use lib $FindBin::Bin;\nuse Time::Local;\nprint 1;\n")
    with perl_zygote(script) as zygote:
        assert f"asks for the time (time, at {folder.path}/Time/Local.pm line 2)" in zygote.note(LEVEL)[0]


def test_pure_modules_are_loaded_ahead_of_a_script_that_is_not(folder):
    script = folder.script("x.pl", "BEGIN { $early = exists $INC{'POSIX.pm'} ? 1 : 0; $t = time }\n"
                           "use POSIX (); use Text::Wrap; print $early, \"\\n\";\n")
    with perl_zygote(script) as zygote:
        assert zygote.level == 2
        assert [zygote.ask().text for _ in range(TIMES)] == ["1\n"] * TIMES


def test_what_the_operator_accepts_is_no_reason(folder):
    script = folder.script("x.pl", "BEGIN { $t = time; $pid = $$ }\nprint \"$t\\n\";\n")
    with perl_zygote(script, accept="time,pid") as zygote:
        assert zygote.level == 3
        assert len({zygote.ask().text for _ in range(TIMES)}) == 1
    with perl_zygote(script, accept="pid") as zygote:
        assert zygote.level == 2


def test_a_script_that_is_compiled_in_each_request_is_otherwise_as_ever(folder):
    script = folder.script("x.pl", """#!/usr/bin/perl -w
use strict; use warnings;
our @order; my $count = 0; sub next_one { ++$count }
BEGIN { push @order, 'BEGIN', time > 0, "@ARGV", $0, $ENV{QUERY_STRING} } INIT { push @order, 'INIT' }
END { print "END $?\\n"; $? = 7 }
print "$_\\n" for @order, next_one(), ${^GLOBAL_PHASE}, __FILE__, __LINE__, $^W, fileno(DATA) > 2;
print while <DATA>; print while <STDIN>; warn 'careful'; my $x; print "a$x\\n";
print join(',', map { $_ // '' } caller), "@ARGV\\n"; print sort(grep { /Bridge/ } keys %INC), "\\n";
die 'the end';
__DATA__
rows
of data
""")
    plain = run_plainly([PERL, "-w", script, "a", "b c"], body=b"some\nbody\n")
    with perl_zygote(script, "-w") as zygote:
        assert zygote.level == 2, zygote.notes
        for _ in range(TIMES):
            assert zygote.ask("a", "b c", body=b"some\nbody\n").seen() == plain.seen()


PYTHON = "/usr/bin/python3"
IMPURE_PYTHON = {
    "a key": ("import os; key = os.urandom(8).hex()", "random"),
    "a token": ("import secrets; key = secrets.token_hex()", "random"),
    "a time": ("import time; key = time.time()", "time"),
    "a date": ("import datetime; key = datetime.datetime.now().isoformat()", "time"),
    "a moment since the machine's start": ("import time; key = time.monotonic()", "time"),
    "a moment by a kept name": ("from timeit import default_timer as now; key, = map(lambda f: f(), [now])",
                                "time"),
    "a moment of another clock": ("import time; key = time.clock_gettime_ns(time.CLOCK_BOOTTIME)", "time"),
    "processor time": ("import time; key = time.process_time_ns()", "time"),
    "what it has used": ("import resource; key = resource.getrusage(resource.RUSAGE_SELF).ru_utime", "time"),
    "a pid": ("import os; key = os.getpid()", "process id"),
    "a link's pid": ("import os; key = os.readlink('/proc/thread-self')", "process id"),
    "the time of its folder": ("import os; key = os.stat('/proc/self').st_ctime_ns", "process id"),
    "multiprocessing's key": ("import multiprocessing as m; key = bytes(m.current_process().authkey).hex()",
                              "multiprocessing's key"),
    "the environment's place": ("import ctypes; key = ctypes.c_int.in_dll(ctypes.CDLL(None), 'environ') != 0",
                                "cannot be watched"),
    "a child": ("import subprocess; key = subprocess.run(['true']).returncode", "process"),
    "a connection": ("import socket; s = socket.socket(); key = s.connect_ex(('127.0.0.1', 9))",
                     "connection"),
    "a file": ("import os; os.mkdir('/tmp/cgibridge-pure'); os.rmdir('/tmp/cgibridge-pure'); key = 1",
               "changes files"),
    "its input": ("import os; key = os.read(0, 9)", "input"),
}


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", IMPURE_PYTHON)
def test_a_python_module_that_does_it_is_not_loaded_ahead(folder, kind, reset):
    text, why = IMPURE_PYTHON[kind]
    folder.script("lib/impure.py", text + "\n")
    folder.script("lib/pure.py", "import json, random, logging, uuid\ncount = 1\n")
    script = folder.script("x.py", "import sys\nahead = 'pure' in sys.modules\nimport impure, pure\n"
                           "print(impure.key, ahead)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    modules = "impure,pure,json,random,logging,uuid,secrets,datetime,subprocess,socket,multiprocessing"
    line = [PYTHON, f"{adapters_dir()}/python/start.py", f"--preload={modules}", script]
    with Warm(line, level="compiled", reset=reset, env={**LAUNCH_ENV, **env}) as zygote:
        assert any("impure" in text and why in text for text in zygote.note(WARNING)), zygote.notes
        zygote.argv = [PYTHON, script]
        answers = [zygote.ask(env={**REQUEST_ENV, **env}).text.split() for _ in range(TIMES)]
        assert {ahead for *_, ahead in answers} == {"True"}
        differs = "a key", "a token", "a time", "a date", "multiprocessing's key"
        if kind in differs or kind.startswith("a moment"):
            assert len({key for key, _ in answers}) == TIMES


KEEPS_CLOCKS = """
import sys, threading, time
class Timer:
    clock = time.monotonic
    def spent(self, since=time.perf_counter): return self.clock() > 0, since() > 0
made_by = type(Timer.clock), Timer.clock is time.monotonic, threading.Lock().acquire(timeout=1)
"""


def test_a_clock_that_a_python_module_keeps_is_python_s_own(folder):
    """Nothing is measured while it is loaded, though Python itself reads a clock for each lock."""
    folder.script("lib/keeps.py", KEEPS_CLOCKS)
    script = folder.script("x.py", "import sys\nahead = 'keeps' in sys.modules\nimport keeps, time\n"
                           "print(keeps.made_by, keeps.Timer().spent(), sys.getrefcount(time.perf_counter))\n"
                           "print(ahead, file=sys.stderr)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    line = [PYTHON, f"{adapters_dir()}/python/start.py", "--preload=keeps", script]
    plain = run_plainly([PYTHON, script], env={**REQUEST_ENV, **env})
    with Warm(line, level="compiled", env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.note(WARNING) == []
        zygote.argv = [PYTHON, script]
        for _ in range(2):
            answer = zygote.ask(env={**REQUEST_ENV, **env})
            assert (answer.stdout, answer.stderr) == (plain.stdout, b"True\n")


LEAVES_PYTHON = {
    "the mask of modes": ("import os; os.umask(0o777)", "mask"),
    "a handler": ("import signal; signal.signal(signal.SIGUSR1, lambda *a: 0)", "signal"),
    "an ignored signal": ("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)", "signal"),
    "a lock": ("import fcntl\nwith open(__file__) as f: fcntl.flock(f, fcntl.LOCK_SH)", "flock"),
    "a mode": ("import os; os.chmod(__file__, 0o644)", "changes files"),
    "a child": ("import subprocess; p = subprocess.Popen(['sleep', '50'])", "process"),
    "the folder": ("import os; os.chdir('/usr')", "folder"),
    "an alarm": ("import signal; signal.alarm(100)", "a timer runs"),
    "a pipe's end": ("import os; p, q = os.pipe(); os.close(q)", "a pipe"),
    "a socket": ("import socket; p = socket.socketpair()", "not a file"),
    "a copy of its output": ("import os; p = os.dup(1)", "a copy of a standard stream"),
    "shared memory": ("import mmap; p = mmap.mmap(-1, 4096)", "shared"),
    "its priority": ("import os; os.nice(1)", "priority"),
    "its limits": ("import resource; r = resource.RLIMIT_NOFILE\n"
                   "resource.setrlimit(r, (300, resource.getrlimit(r)[1]))", "limits"),
    "the locale": ("import locale; locale.setlocale(locale.LC_ALL, 'C')", "locale"),
    "a variable": ("import os; os.environ['TZ'] = 'EST5'", "writes"),
    "a word more": ("import sys; sys.argv.append('left')", "sys.argv"),
    "the list of words": ("from sys import argv", "sys.argv"),
    "an exit handler": ("import atexit; atexit.register(print, 'left')", "exit handler"),
    "a thread that ended": ("import threading; t = threading.Thread(target=int); t.start(); t.join()",
                            "thread"),
    "a datagram": ("import socket\nwith socket.socket(type=socket.SOCK_DGRAM) as s:\n"
                   "  s.sendto(b'x', ('127.0.0.1', 9))", "connection"),
    "a number of the generator that was there": ("import random; key = random.random()", "random"),
    "a seed": ("import random; random.seed(42)", "random"),
    "bytes of OpenSSL": ("import ssl; key = ssl.RAND_bytes(8)", "random"),
}


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("text", ["list(map(str.upper, sys.argv))", "len(sys.argv), sys.argv[0]",
                                  "sys.argv[1:]", "getattr(sys, 'orig_argv', [])[1:]"])
def test_a_python_module_that_copies_the_words_suits_requests_without_any(folder, reset, text):
    folder.script("lib/words.py", f"import sys\nwords = {text}\n")
    script = folder.script("x.py", "import sys\nahead = 'words' in sys.modules\nimport words\n"
                           "print(words.words, sys.argv)\nprint(ahead, file=sys.stderr)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    line = [PYTHON, f"{adapters_dir()}/python/start.py", "--preload=words", script]
    with Warm(line, level="compiled", reset=reset, env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.stands and not zygote.note(WARNING), (zygote.notes, zygote.log())
        zygote.argv = [PYTHON, script]
        for words in ((), ("a",), (), ("a", "b")):
            answer = zygote.ask(*words, env={**REQUEST_ENV, **env})
            plain = run_plainly([PYTHON, script, *words], env={**REQUEST_ENV, **env})
            assert (answer.stdout, answer.code) == (plain.stdout, plain.code)
            assert answer.stderr == (b"False\n" if words else b"True\n")


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", LEAVES_PYTHON)
def test_a_python_module_that_leaves_something_is_not_loaded_ahead(folder, kind, reset):
    text, why = LEAVES_PYTHON[kind]
    folder.script("lib/leaves.py", text + "\n")
    folder.script("lib/pure.py", "import sys\nname = sys.argv[0]\n")
    script = folder.script("x.py", "import os, sys, time, signal, resource, locale\nmask = os.umask(0)\n"
                           "limits = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
                           "print(oct(mask), os.getcwd(), os.nice(0), limits,\n"
                           "      locale.setlocale(locale.LC_ALL),\n"
                           "      time.localtime(0)[:5], signal.getsignal(signal.SIGUSR1), sys.argv[1:],\n"
                           "      signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    plain = run_plainly([PYTHON, script, "a"], env={**REQUEST_ENV, **env})
    line = [PYTHON, f"{adapters_dir()}/python/start.py", "--preload=random,socket,ssl,leaves,pure", script]
    with Warm(line, level="compiled", reset=reset, env={**LAUNCH_ENV, **env}) as zygote:
        if cannot_be_taken_back(kind, zygote):
            return
        assert zygote.stands, (zygote.notes, zygote.log())
        assert any("leaves" in text and why in text for text in zygote.note(WARNING)), zygote.notes
        files = "\n".join(zygote.note(FILE))
        assert "lib/pure.py" in files and "lib/leaves.py\n" not in files
        zygote.argv = [PYTHON, script]
        for _ in range(2):
            assert zygote.ask("a", env={**REQUEST_ENV, **env}).seen() == plain.seen()
