"""reset=rewind and the ends of programs: what a program does at its end is done, once, after each request; an
end that is not the program's own costs the worker, and the next one answers."""

import os
import subprocess

import pytest

from driver import Warm, adapters_dir, run_plainly
from harness.compiled import compile_library

PERL, PYTHON = "/usr/bin/perl", "/usr/bin/python3"
TIMES = 5

INCLUDES = """
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static void say(const char *text) { puts(text); }
static void at_exit(void) { say("atexit"); }
static void at_exit_more(void) { say("more"); atexit(at_exit); }
static void on_the_way(int code, void *p) { printf("on_exit %d %s\\n", code, (char *)p); }
static void exits_anew(void) { say("anew"); exit(9); }
static void exits(int n) { exit(20 + (n == SIGSEGV)); }
static sigjmp_buf back;
static void jumps(int n) { siglongjmp(back, 1); }
static void use_altstack(void (*handler)(int), int number) {
  stack_t own = {.ss_sp = malloc(65536), .ss_size = 65536};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaltstack(&own, 0); sigaction(number, &action, 0);
}
static int by_exit(const void *a, const void *b) { exit(15); }
static void *thread_exits(void *p) { exit(17); }
static void *thread_works(void *p) { say("thread"); return 0; }
static void *thread_waits(void *p) { pause(); return 0; }
static void overflow(int depth) { volatile char page[65536]; page[0] = depth; overflow(depth + 1);
    page[1] = 1; }
static int deep(int depth) { volatile char page[4096]; page[0] = 1;
    return depth ? deep(depth - 1) + page[0] : 0; }
"""

# name: (what main does, DONE's code or None, whether the worker stays)
STAYS = {
    "return": ('say("x"); return 5;', 5),
    "return of 0 with output unflushed": ('printf("no newline"); return 0;', 0),
    "exit": ("exit(4);", 4),
    "exit with more than a byte": ("exit(256 + 7);", 7),
    "exit of -1": ("exit(-1);", 255),
    "atexit": ("atexit(at_exit); atexit(at_exit); return 1;", 1),
    "atexit that registers another": ("atexit(at_exit_more); return 1;", 1),
    "on_exit": ('on_exit(on_the_way, "first"); atexit(at_exit); on_exit(on_the_way, "second"); exit(6);', 6),
    "exit within atexit": ("atexit(at_exit); atexit(exits_anew); exit(3);", 9),
    "exit deep in the stack": ("int two[] = {2, 1, 3}; qsort(two, 3, sizeof *two, by_exit); return 0;", 15),
    "exit from a handler": ("signal(SIGUSR1, exits); raise(SIGUSR1); return 0;", 20),
    "exit from a handler of SIGSEGV": ("signal(SIGSEGV, exits); *(volatile int *)8 = 1; return 0;", 21),
    "exit on an alternate stack": ("use_altstack(exits, SIGUSR1); raise(SIGUSR1); return 0;", 20),
    "exit on an alternate stack after an overflow": ("use_altstack(exits, SIGSEGV); overflow(0); return "
                                                     "0;", 21),
    "a jump out of a handler": ("if (sigsetjmp(back, 1) == 0) { use_altstack(jumps, SIGUSR1); "
                                'raise(SIGUSR1); } say("back"); return 8;', 8),
    "a deep stack": ('printf("%d\\n", deep(1500)); return 0;', 0),
    "stdout closed": ('say("x"); fclose(stdout); return 0;', 0),
    "standard descriptors closed": ('say("x"); fflush(stdout); close(0); close(1); close(2); return 3;', 3),
    "standard descriptors replaced": ('say("x"); fflush(stdout); dup2(open("/dev/null", O_RDWR), 1); '
                                      'say("not seen"); return 3;', 3),
    "stdin unread": ("return 2;", 2),
    "stdin read in part": ("putchar(getchar()); return 2;", 2),
    "stdout unbuffered": ('setvbuf(stdout, 0, _IONBF, 0); say("x"); return 0;', 0),
    "output left in another stream": ('FILE *f = fdopen(dup(1), "w"); fputs("late", f); return 0;', 0),
    "output left in a stream without descriptor": ('char *p; size_t n; FILE *f = open_memstream(&p, &n); '
                                                   'fputs("x", f); return 0;', 0),
    "a thread that was waited for": ("pthread_t one; pthread_create(&one, 0, thread_works, 0); "
                                     "pthread_join(one, 0); return 1;", 1),
    "a child that was waited for": ('fflush(stdout); if (fork() == 0) { say("child"); exit(3); } '
                                    'int s; wait(&s); printf("%d\\n", WEXITSTATUS(s)); return 1;', 1),
    "a child that returns from main": ('if (fork() == 0) { say("child"); return 3; } '
                                       'wait(0); say("parent"); return 1;', 1),
    "a child by vfork": ('if (vfork() == 0) { execl("/bin/echo", "echo", "vfork", (char *)0); _exit(1); } '
                         "wait(0); return 1;", 1),
    "system and popen": ('system("echo system"); FILE *f = popen("echo popen", "r"); char b[99]; '
                         "fputs(fgets(b, 99, f), stdout); return pclose(f);", 0),
    "a signal ignored": ("signal(SIGPIPE, SIG_IGN); raise(SIGPIPE); return 2;", 2),
}

GOES = {
    "exit_group": ('write(1, "x", 1); syscall(SYS_exit_group, 7);', 7),
    "exit of the only thread": ('write(1, "x", 1); syscall(SYS_exit, 7);', 7),
    "quick_exit": ('at_quick_exit(at_exit); say("x"); fflush(stdout); quick_exit(8);', 8),
    "abort": ('write(1, "x", 1); abort();', -6),
    "SIGSEGV": ('write(1, "x", 1); *(volatile int *)8 = 1;', -11),
    "SIGKILL": ('write(1, "x", 1); raise(SIGKILL);', -9),
    "SIGTERM": ('write(1, "x", 1); kill(getpid(), SIGTERM);', -15),
    "SIGPIPE": ("int p[2]; pipe(p); close(p[0]); write(p[1], \"x\", 1); return 0;", -13),
    "an overflow of the stack": ('write(1, "x", 1); overflow(0);', -11),
    "an alarm": ("struct itimerval t = {{0}, {0, 1000}}; setitimer(ITIMER_REAL, &t, 0); pause();", -14),
    "exec": ('say("x"); fflush(stdout); execl("/bin/sh", "sh", "-c", "echo exec; exit 4", (char *)0);', 4),
    "a limit of processor time": ("struct rlimit l = {1, 1}; setrlimit(RLIMIT_CPU, &l); for (;;);", -9),
}

# Both outcomes are right, because the answer is the same.
EITHER = {
    "_exit": ('say("x"); fflush(stdout); _exit(6);', 6),
    "_exit with output unflushed": ('say("lost"); _exit(6);', 6),
    "_Exit": ('write(1, "x", 1); _Exit(8);', 8),
    "pthread_exit of the first thread": ("pthread_exit(0);", 0),
    "exit of another thread": ("pthread_t one; pthread_create(&one, 0, thread_exits, 0); pause(); return "
                               "1;", 17),
    "exit beside another thread": ("pthread_t one; pthread_create(&one, 0, thread_waits, 0); say(\"x\"); "
                                   "return 1;", 1),
    "exit within a vfork child": ('if (vfork() == 0) exit(3); wait(0); say("parent"); return 1;', 1),
}


def same_as_plain(argv, times=TIMES, **options):
    """Returns the warm program's answers, after checking that each is the same as the plain program's."""
    plain = run_plainly(argv, body=b"body")
    with Warm(options.pop("launch", argv), **options) as warm:
        assert warm.reset == "rewind", warm.weaker
        answers = []
        for n in range(times):
            answers.append(warm.ask(body=b"body"))
            assert answers[-1].seen() == plain.seen(), (n, answers[-1].reason)
    return answers, warm


def compile_main(folder, body):
    return [folder.compile("end.c", INCLUDES + "int main(int argc, char **argv) { %s }" % body, "-pthread",
                           "-D_GNU_SOURCE")]


@pytest.mark.parametrize("name", STAYS)
def test_an_end_that_the_worker_survives(folder, name):
    body, code = STAYS[name]
    answers, warm = same_as_plain(compile_main(folder, body))
    assert [(one.done, one.stays) for one in answers] == [(code, True)] * TIMES, warm.retired
    assert warm.workers == 1


@pytest.mark.parametrize("name", GOES)
def test_an_end_of_the_process(folder, name):
    body, code = GOES[name]
    times = 2 if "time" in name else TIMES
    answers, warm = same_as_plain(compile_main(folder, body), times)
    assert [(one.done, one.code) for one in answers] == [(None, code)] * times
    assert warm.workers == times


@pytest.mark.parametrize("name", EITHER)
def test_an_end_that_may_cost_the_worker(folder, name):
    body, code = EITHER[name]
    answers, warm = same_as_plain(compile_main(folder, body))
    assert {one.code for one in answers} == {code}


def test_cplusplus_statics_and_thread_locals_are_destroyed_each_time(folder):
    program = folder.compile("life.cc", r"""
#include <iostream>
#include <cstdlib>
#include <string>
struct Loud {
  std::string name; int used = 0;
  ~Loud() { std::cout << name << " " << used << "\n"; }
};
static Loud global{"global"};
Loud &local() { static Loud made{"static in a function"}; return made; }
thread_local Loud of_thread{"thread_local"};
int main() {
  ++global.used; ++local().used; ++of_thread.used;
  std::atexit([] { std::cout << "atexit " << global.used << "\n"; });
  Loud unwound{"automatic"};
  if (getenv("NEVER")) throw 1;
  return 0;
}""")
    answers, warm = same_as_plain([program])
    assert answers[0].text.count("\n") == 5 and warm.workers == 1


def test_an_exception_that_nobody_catches(folder):
    program = folder.compile("throw.cc", "#include <stdexcept>\nint main() { throw "
                                         "std::runtime_error(\"x\"); }")
    answers, _ = same_as_plain([program])
    assert answers[0].code == -6 and b"what():  x" in answers[0].stderr


def test_a_library_s_constructor_and_destructor(folder):
    """Once linked, once loaded in the request."""
    for name in ("linked", "loaded"):
        source = folder.script(f"{name}.c", '#include <stdio.h>\nstatic int uses;\nint use(void) { return '
                                            '++uses; }\n'
                               f'__attribute__((destructor)) static void late(void) '
                               f'{{ printf("{name} %d\\n", uses); }}')
        compile_library(source, folder.path / f"lib{name}.so")
    program = folder.compile("main.c", """
#include <dlfcn.h>
int use(void);
int main() {
  use();
  int (*other)(void) = dlsym(dlopen("%s/libloaded.so", RTLD_NOW | RTLD_LOCAL), "use");
  return use() * 10 + other();
}""" % folder.path, f"-L{folder.path}", "-llinked", f"-Wl,-rpath,{folder.path}")
    answers, warm = same_as_plain([program])
    assert answers[0].code == 21 and set(answers[0].text.split("\n")[:2]) == {"loaded 1", "linked 2"}


SHELL_ENDS = {
    "the script's last line": "echo x",
    "exit": "echo x; exit 3",
    "a trap": "trap 'echo trap; exit 4' EXIT; echo x; exit 3",
    "set -e": "set -e; echo x; false; echo not seen",
    "an unset variable": "set -u; echo x; echo $unset",
    "a syntax error": "echo x; if",
    "exec": "echo x; exec /bin/sh -c 'echo exec; exit 5'",
    "a signal": "echo x; kill -TERM $$; sleep 1",
    "a trapped signal": "trap 'echo trapped; exit 7' TERM; echo x; kill -TERM $$; sleep 1",
    "a job waited for": "sleep 0.01 & wait; echo x",
    "a pipeline": "echo x | { read y; echo $y; exit 3; } | cat; echo ${PIPESTATUS[@]}",
}


@pytest.mark.parametrize("name", SHELL_ENDS)
def test_ends_of_shell_scripts(folder, needs, name):
    needs("bash")
    answers, warm = same_as_plain(["/bin/bash", folder.script("x.sh", SHELL_ENDS[name])])
    if name not in ("exec", "a signal"):
        assert warm.workers == 1, warm.retired


PERL_ENDS = {
    "the script's last line": 'print "x\\n";',
    "exit": 'print "x"; exit 3;',
    "END": 'END { print "END $?\\n"; $? = 7 } END { print "first\\n" } print "x\\n"; exit 5;',
    "die": 'END { print "END $?\\n" } die "the end\\n";',
    "exit within eval": 'eval { exit 6 }; print "not seen";',
    "DESTROY of a lexical and a global": 'sub DESTROY { print "gone @{$_[0]}\\n" } our $g = bless '
                                         '["global"]; '
                                         'my $l = bless ["lexical"]; print "x\\n"; exit 2;',
    "DESTROY of a cycle": 'sub DESTROY { print "gone\\n" } my $x = bless {}; $x->{self} = $x;',
    "a file left open": 'open my $f, ">&", \\*STDOUT; print $f "left open"; our $kept = $f;',
    "POSIX::_exit": 'use POSIX (); $| = 1; print "x"; POSIX::_exit(4);',
    "exec": '$| = 1; print "x\\n"; exec "/bin/sh", "-c", "echo exec; exit 4";',
    "a signal": '$| = 1; print "x\\n"; kill TERM => $$; sleep 1;',
    "a trapped signal": '$SIG{TERM} = sub { print "TERM\\n"; exit 8 }; kill TERM => $$; sleep 1;',
    "a child that comes to the end": '$| = 1; print "x\\n"; if (!fork) { print "child\\n"; exit 3 } wait; '
                                     'print $? >> 8, "\\n";',
    "output unflushed in a child": 'print "x\\n"; my $pid = fork; if (!$pid) { exit } waitpid $pid, 0;',
}
GONE = ("exec", "a signal", "os.abort", "os.execv")


@pytest.mark.parametrize("name", PERL_ENDS)
def test_ends_of_perl_scripts(folder, name):
    script = folder.script("x.pl", PERL_ENDS[name])
    answers, warm = same_as_plain([PERL, script], level="compiled", launch=[
        PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script])
    if "_exit" not in name:
        assert warm.workers == (TIMES if name in GONE else 1), warm.retired


PYTHON_ENDS = {
    "the script's last line": "print('x')",
    "sys.exit": "import sys; sys.exit(3)",
    "sys.exit of a text": "import sys; sys.exit('the end')",
    "an uncaught error": "def f(): 1 / 0\nf()",
    "atexit": "import atexit\natexit.register(print, 'atexit')\nprint('x')",
    "__del__ of a global": "class C:\n def __del__(self): print('gone')\nkept = C()",
    "__del__ of a cycle": "class C:\n def __del__(self): print('gone')\none = C(); one.self = one",
    "__del__ within a loaded module": "import json\nclass C:\n def __del__(self): print('gone')\njson.kept "
                                      "= C()",
    "a weakref's callback": "import weakref\nclass C: pass\none = C()\nweakref.finalize(one, print, "
                            "'finalized')",
    "a file left open": "f = open('/dev/fd/1', 'w'); f.write('left open')",
    "a file left open within a module": "import json\njson.f = open('/dev/fd/1', 'w'); json.f.write('left "
                                        "open')",
    "a generator left amid": "def g():\n try: yield 1\n finally: print('finally')\nkept = g(); next(kept)",
    "a thread that ends by itself": "import threading\nthreading.Thread(target=print, "
                                    "args=('thread',)).start()",
    "stdout closed": "import sys; print('x'); sys.stdout.close()",
    "sys.stdout replaced": "import sys, io; print('x'); sys.stdout = io.StringIO(); print('not seen')",
    "os._exit": "import os; print('x', flush=True); os._exit(4)",
    "os.abort": "import os; print('x', flush=True); os.abort()",
    "os.execv": "import os; print('x', flush=True); os.execv('/bin/sh', ['sh', '-c', 'echo exec; exit 4'])",
    "KeyboardInterrupt": "import os, signal; print('x', flush=True); os.kill(os.getpid(), signal.SIGINT)",
    "a child that comes to the end": "import os, sys\nprint('x', flush=True)\nif os.fork() == 0:\n"
                                     " print('child'); sys.exit(3)\nprint(os.wait()[1])",
}


@pytest.mark.parametrize("name", PYTHON_ENDS)
def test_ends_of_python_scripts(folder, name):
    script = folder.script("x.py", PYTHON_ENDS[name])
    answers, warm = same_as_plain([PYTHON, script], level="compiled", launch=[
        PYTHON, f"{adapters_dir()}/python/start.py", "--preload=json", script])
    if name in ("KeyboardInterrupt", "os._exit"):
        return
    assert warm.workers == (TIMES if name in GONE else 1), warm.retired


def test_a_daemon_left_behind_lives_on_and_does_not_hold_the_answer(folder):
    file, fifo = folder.path / "late", folder.path / "fifo"
    os.mkfifo(fifo)
    script = folder.script("daemon.sh", f"echo answer; (read -r <{fifo}; echo $PPID >> {file}) & exit 0")
    with Warm(["/bin/bash", script]) as warm:
        for lines in (1, 2):
            answer = warm.ask()
            assert (answer.text, answer.done, answer.retirement) == ("answer\n", 0, "children")
            subprocess.run(["sh", "-c", f"echo go on >{fifo}; touch {file};"
                                        f"until [ $(wc -l <{file}) = {lines} ]; do sleep 0.05; done"],
                           timeout=60, check=True)
