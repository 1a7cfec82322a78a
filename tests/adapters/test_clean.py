"""After a request that made no call which the kernel remembers, the kernel is not asked for what it cannot
have changed. Whatever does make one is noticed: by libc's function, by syscall(), by an instruction of its
own, in a library that was loaded late, by libc's function that was found past ours. And what such a request
leaves is put back like any other's."""

import os
import platform
import signal

import pytest

from acts import RAW_CALL
from driver import Warm, Zygote, adapters_dir, run_plainly
from harness.compiled import compile_library
from python import python_argv

X86 = platform.machine() == "x86_64"
only_x86 = pytest.mark.skipif(not X86, reason="the kernel hands calls back on x86-64 only")

# What a request finds, and then changes. call() makes system calls in one of the ways.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
""" + RAW_CALL + r"""
typedef long calls(long, long, long, long, long);
static calls *call = raw;
static long by_number(long n, long a, long b, long c, long d) { return syscall(n, a, b, c, d); }
static void load(const char *path) {
  void *late = dlopen(path, RTLD_NOW);
  if (late == NULL) { puts(dlerror()); exit(9); }
  call = (calls *)dlsym(late, "late");
}
static char stack[65536];
static void show(void) {
  mode_t mask = umask(0); umask(mask);
  struct itimerval timer; getitimer(ITIMER_REAL, &timer);
  stack_t now; sigaltstack(NULL, &now);
  char name[20] = ""; prctl(PR_GET_NAME, name);
  sigset_t pending, blocked; sigpending(&pending); sigprocmask(SIG_BLOCK, NULL, &blocked);
  struct sigaction action; sigaction(SIGUSR1, NULL, &action);
  gid_t groups[64];
  printf("%o %d %d %s %d %d %d %d %d %d %d\n", mask, timer.it_value.tv_sec != 0, now.ss_sp == stack, name,
         getpgrp() == getpid(), getpriority(PRIO_PROCESS, 0), sigismember(&pending, SIGUSR1),
         sigismember(&blocked, SIGUSR1), action.sa_handler == SIG_IGN, getgroups(64, groups),
         (int)prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0));
}
static void act(const char *what) {
  struct itimerval timer = {{0, 0}, {1000, 0}};
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  unsigned long signals[16] = {1};  /* SIG_IGN; long enough for the kernel's struct */
  unsigned long mask = 1ul << (SIGUSR1 - 1);
  if (!strcmp(what, "umask")) call(SYS_umask, 0123, 0, 0, 0);
  if (!strcmp(what, "timer")) call(SYS_setitimer, ITIMER_REAL, (long)&timer, 0, 0);
  if (!strcmp(what, "stack")) call(SYS_sigaltstack, (long)&other, 0, 0, 0);
  if (!strcmp(what, "name")) call(SYS_prctl, PR_SET_NAME, (long)"another", 0, 0);
  if (!strcmp(what, "group")) call(SYS_setpgid, 0, getppid(), 0, 0);
  if (!strcmp(what, "nice")) call(SYS_setpriority, PRIO_PROCESS, 0, 5, 0);
  if (!strcmp(what, "action")) call(SYS_rt_sigaction, SIGUSR1, (long)signals, 0, 8);
  if (!strcmp(what, "mask")) call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, 0, 8);
  if (!strcmp(what, "pending")) {
    call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, 0, 8);
    call(SYS_kill, getpid(), SIGUSR1, 0, 0);
  }
  if (!strcmp(what, "keepcaps")) call(SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0);
  if (!strcmp(what, "groups")) call(SYS_setgroups, 0, 0, 0, 0);
  if (!strcmp(what, "descriptors")) for (int i = 3; i < 4096; ++i) call(SYS_close, i, 0, 0, 0);
}
static void ends(int number) { puts("end"); exit(0); }
static void functions(const char *what) {
  struct itimerval timer = {{0, 0}, {1000, 0}};
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  if (!strcmp(what, "umask")) umask(0123);
  if (!strcmp(what, "timer")) setitimer(ITIMER_REAL, &timer, NULL);
  if (!strcmp(what, "stack")) sigaltstack(&other, NULL);
  if (!strcmp(what, "name")) prctl(PR_SET_NAME, "another");
  if (!strcmp(what, "group")) setpgid(0, getppid());
  if (!strcmp(what, "nice")) setpriority(PRIO_PROCESS, 0, 5);
  if (!strcmp(what, "action")) signal(SIGUSR1, SIG_IGN);
  if (!strcmp(what, "mask")) sighold(SIGUSR1);
  if (!strcmp(what, "pending")) { sighold(SIGUSR1); raise(SIGUSR1); }
  if (!strcmp(what, "blocked")) {
    sigset_t one; sigemptyset(&one); sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, NULL); raise(SIGUSR1);
  }
  if (!strcmp(what, "blocked in a thread")) {
    sigset_t one; sigemptyset(&one); sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL); kill(getpid(), SIGUSR1);
  }
  if (!strcmp(what, "ends in a handler")) { signal(SIGUSR1, ends); raise(SIGUSR1); }
  if (!strcmp(what, "keepcaps")) prctl(PR_SET_KEEPCAPS, 1);
  if (!strcmp(what, "groups")) setgroups(0, NULL);
  if (!strcmp(what, "descriptors")) for (int i = 3; i < 4096; ++i) close(i);
}
int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
  if (!strcmp(how, "number")) call = by_number;
  if (!strcmp(how, "late")) load(argv[3]);
  if (!strcmp(what, "user")) for (int i = atoi(argv[3]); i > 0; --i) call(SYS_getuid, 0, 0, 0, 0);
  if (*what == 0) show();
  else if (!strcmp(how, "function")) functions(what);
  else if (!strcmp(how, "version")) {
    mode_t (*found)(mode_t) = (mode_t(*)(mode_t))dlvsym(RTLD_NEXT, "umask", "GLIBC_2.2.5");
    found(0123);
  } else act(what);
  puts("end");
}
"""
LATE = RAW_CALL.replace("static long raw", "long late")
ACTS = ["umask", "timer", "stack", "name", "group", "nice", "action", "mask", "pending", "keepcaps", "groups",
        "descriptors"]
WAYS = ["function", *(["number", "instruction", "late"] if X86 else [])]
# Signals have a look of their own.
CLEAN_BY_FUNCTION = {"action", "blocked", "blocked in a thread", "ends in a handler"}


@pytest.fixture
def program(folder):
    return [folder.compile("clean.c", SOURCE)]


@pytest.fixture
def late(folder):
    library = f"{folder.path}/late.so"
    compile_library(folder.script("late.c", LATE), library)
    return library


def test_a_request_that_only_reads_and_writes_is_clean(program):
    with Warm(program) as warm:
        for _ in range(3):
            answer = warm.ask("x")
            assert (answer.text, answer.is_clean) == ("end\n", X86)


@pytest.mark.parametrize("what,how", [*((what, how) for what in ACTS for how in WAYS),
                                      *((what, "function") for what in sorted(CLEAN_BY_FUNCTION))])
def test_what_a_request_changes_is_noticed_and_put_back(program, late, what, how):
    with Warm(program) as warm:
        first = warm.ask()
        for _ in range(3):
            answer = warm.ask(what, how, late)
            if not (what == "descriptors" and answer.done is None):  # it closed the channel as well
                assert not answer.is_clean or (how == "function" and what in CLEAN_BY_FUNCTION)
            assert warm.ask("x").text == "end\n"
            assert warm.ask().text == first.text


def test_a_function_that_is_found_past_ours_makes_no_request_clean(program):
    with Warm(program) as warm:
        first = warm.ask()
        for _ in range(3):
            assert not warm.ask("umask", "version").is_clean
            assert warm.ask().text == first.text


WRAPPER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>
static mode_t (*next)(mode_t);
%s static void find(void) { next = (mode_t(*)(mode_t))dlsym(RTLD_NEXT, "umask"); }
void set(void) { if (!next) find(); next(0123); }
"""


@pytest.mark.parametrize("when", ["__attribute__((constructor))", ""])
def test_a_library_that_wraps_a_function_makes_no_request_clean(folder, when):
    library = f"{folder.path}/wrapper.so"
    compile_library(folder.script("wrapper.c", WRAPPER % when), library)
    argv = [folder.compile("wrapped.c", """
#include <stdio.h>
#include <sys/stat.h>
void set(void);
int main(int argc, char **argv) { if (argc > 1) set(); else printf("%o\\n", umask(022)); }
""", library)]
    plain = run_plainly(argv)
    with Warm(argv) as warm:
        for _ in range(3):
            assert not warm.ask("x").is_clean
            assert warm.ask().seen() == plain.seen()


@only_x86
def test_what_only_tells_something_changes_nothing(program):
    with Warm(program) as warm:
        assert [warm.ask("user", "instruction", str(times)).is_clean for times in (1, 50, 1, 100)] \
            == [True, True, True, False]
        assert warm.ask("x").is_clean


@only_x86
def test_what_is_handed_back_need_not_be_made_by_64_bits(folder):
    argv = [folder.compile("old.c", """
#include <stdio.h>
int main(void) {
  int mask = 0123, old;
  __asm__ volatile("int $0x80" : "=a"(old) : "a"(60), "b"(mask) : "memory", "r8", "r9", "r10", "r11");
  printf("%o\\n", old);
}
""")]
    plain = run_plainly(argv)
    with Warm(argv) as warm:
        for _ in range(4):
            answer = warm.ask()
            assert (answer.seen(), answer.is_clean) == (plain.seen(), False)


@only_x86
def test_the_signal_itself_ends_a_program_as_ever(folder):
    argv = [folder.compile("end.c", """
#include <signal.h>
#include <stdio.h>
int main(int argc, char **argv) {
  if (argc > 1) { raise(SIGSYS); puts("not reached"); }
  puts("end");
}
""")]
    with Warm(argv) as warm:
        assert warm.ask().text == "end\n"
        answer = warm.ask("x")
        assert (answer.text, answer.code) == ("", -31)
        assert warm.ask().text == "end\n"


def test_the_signal_ends_a_worker_that_rests(program):
    with Zygote(program, reset="rewind") as zygote:
        worker = zygote.worker()
        assert worker.request([*program, "x"], say_ready=True).stays
        os.kill(worker.pid, signal.SIGSYS)
        assert os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1]) == -signal.SIGSYS
        worker.status = 0


WRITES_AT_THE_END = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static const char *deed = "";
static ssize_t on_write(void *cookie, const char *bytes, size_t count) {
  if (!strcmp(deed, "umask")) umask(0123);
  if (!strcmp(deed, "by number")) syscall(SYS_umask, 0123);
  if (!strcmp(deed, "by instruction")) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_umask), "D"(0123) : "rcx", "r11", "memory");
  }
  if (!strcmp(deed, "child") && fork() == 0) _exit(0);
  if (!strcmp(deed, "flags")) fcntl(1, F_SETFL, O_NONBLOCK);
  write(1, bytes, count);
  return count;
}
int main(int argc, char **argv) {
  struct stat made;  /* umask() itself would be noticed */
  mkdir("made", 0777); stat("made", &made); rmdir("made");
  FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = on_write});
  fprintf(stream, "%o %d %d\n", made.st_mode, fcntl(1, F_GETFL), waitpid(-1, NULL, WNOHANG));
  if (argc > 1) deed = argv[1];
  return 0;
}
"""


@pytest.mark.parametrize("deed", ["umask", "by number", "flags", "child",
                                  pytest.param("by instruction", marks=only_x86)])
def test_what_a_stream_does_when_it_is_flushed_at_the_end_counts(folder, deed):
    argv, here = [folder.compile("x.c", WRITES_AT_THE_END)], str(folder.path)
    plain = run_plainly(argv, cwd=here)
    with Warm(argv) as warm:
        for _ in range(3):
            assert warm.ask(cwd=here).seen() == plain.seen()
            assert warm.ask(deed, cwd=here).seen() == plain.seen()
    assert {why for why, _ in warm.retired} <= ({"children"} if deed == "child" else set())


SHOWS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  FILE *file = fopen("/proc/self/status", "r");
  for (char line[512]; fgets(line, sizeof line, file);)
    if ((!strncmp(line, "Sig", 3) || !strncmp(line, "Shd", 3)) && line[3] != 'Q') fputs(line, stdout);
  fflush(stdout);
  if (argc < 2) return 0;
  /* While a child is made, all signals are blocked. */
  FILE *child = popen("read line; grep ^Sig[^Q] /proc/$PPID/status", "w");
  fputs("now\\n", child);
  return pclose(child);
}
"""


@pytest.mark.parametrize("words", [[], ["child"]])
def test_a_program_sees_its_own_actions_only(folder, words):
    argv = [folder.compile("shows.c", SHOWS)]
    plain = run_plainly([*argv, *words])
    with Warm(argv) as warm:
        for _ in range(3):
            assert warm.ask(*words).seen() == plain.seen()
            assert warm.ask().stdout in plain.stdout


OWN_SIGNAL = """
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void on(int n) { write(1, "on\\n", 3); }
int main(int argc, char **argv) {
  struct sigaction now; sigset_t all;
  sigaction(SIGSYS, 0, &now);
  printf("%d\\n", now.sa_handler == SIG_DFL); fflush(stdout);
  if (argc > 1 && !strcmp(argv[1], "handler")) { signal(SIGSYS, on); raise(SIGSYS); }
  if (argc > 1 && !strcmp(argv[1], "ignored")) {
    signal(SIGSYS, SIG_IGN); raise(SIGSYS); printf("%d\\n", signal(SIGSYS, SIG_DFL) == SIG_IGN);
  }
  if (argc > 1 && !strcmp(argv[1], "blocked")) {
    sigfillset(&all); sigprocmask(SIG_SETMASK, &all, 0); raise(SIGSYS);
    long result; __asm__ volatile("syscall" : "=a"(result) : "a"(102) : "rcx", "r11", "memory");
    sigpending(&all); printf("%d %d\\n", sigismember(&all, SIGSYS), result == getuid());
  }
  if (argc > 1 && !strcmp(argv[1], "in a handler")) {
    struct sigaction act = {.sa_handler = on}; sigfillset(&act.sa_mask);
    sigaction(SIGUSR1, &act, 0); raise(SIGUSR1);
  }
  puts("end");
}
"""


@only_x86
@pytest.mark.parametrize("what", ["", "handler", "ignored", "blocked", "in a handler"])
def test_the_signal_is_the_program_s_if_it_wants_it(folder, what):
    argv = [folder.compile("own.c", OWN_SIGNAL)]
    plain = run_plainly([*argv, what])
    with Warm(argv) as warm:
        for _ in range(3):
            assert warm.ask(what).seen() == plain.seen()
            assert warm.ask("").is_clean
        assert warm.retired == []


# Node has handlers that block every signal while they run.
BLOCKS_ALL = """
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void on(int number) {
  long result; sigset_t mask; sigprocmask(SIG_BLOCK, 0, &mask);
  __asm__ volatile("syscall" : "=a"(result) : "a"(102) : "rcx", "r11", "memory");
  printf("on %d %d\\n", sigismember(&mask, SIGUSR2), result == getuid());
}
static void show(int number, const struct sigaction *action) {
  struct sigaction old; sigaction(number, action, &old);
  printf("%d blocks %d %d %d\\n", number, sigismember(&old.sa_mask, SIGSYS),
         sigismember(&old.sa_mask, SIGUSR2), old.sa_handler == on);
}
__attribute__((constructor)) static void before(void) {
  struct sigaction all = {.sa_handler = on}, once = {.sa_handler = on, .sa_flags = SA_RESETHAND};
  sigfillset(&all.sa_mask); sigfillset(&once.sa_mask);
  sigaction(SIGUSR1, &all, 0); sigaction(SIGTERM, &once, 0);
}
int main(int argc, char **argv) {
  struct sigaction plain = {.sa_handler = on};
  show(SIGUSR1, 0); show(SIGTERM, 0);
  if (argc > 1 && !strcmp(argv[1], "raised")) { raise(SIGUSR1); raise(SIGUSR1); }
  if (argc > 1 && !strcmp(argv[1], "set")) { show(SIGUSR1, &plain); show(SIGUSR1, 0); show(SIGTERM, &plain); }
}
"""


@only_x86
@pytest.mark.parametrize("what", ["", "raised", "set"])
def test_a_handler_that_blocks_all_signals_keeps_no_request_from_being_clean(folder, what):
    argv = [folder.compile("blocks.c", BLOCKS_ALL)]
    plain = run_plainly([*argv, what])
    with Warm(argv) as warm:
        for _ in range(3):
            assert warm.ask("").is_clean
            assert warm.ask(what).seen() == plain.seen()
        assert warm.retired == []


@pytest.mark.parametrize("number", ["SIGRTMIN + 2", "SIGUSR1"])
def test_who_ends_in_a_handler_of_the_checkpoint_leaves_no_mask(folder, number):
    argv = [folder.compile("ends.c", f"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static void ends(int n) {{ puts("in the handler"); exit(4); }}
__attribute__((constructor)) static void handles(void) {{ signal({number}, ends); }}
int main(int argc, char **argv) {{
  sigset_t now; sigprocmask(SIG_BLOCK, NULL, &now);
  printf("%d\\n", sigismember(&now, {number}));
  if (argc > 1) raise({number});
}}
""")]
    plain = run_plainly(argv)
    with Warm(argv) as warm:
        for _ in range(3):
            assert warm.ask("x").code == 4
            assert warm.ask().seen() == plain.seen()
        assert warm.retired == []


def test_each_way_is_clean_for_static_programs_too(folder):
    argv = [folder.compile("static.c", """
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
  if (argc > 1) { umask(0123); alarm(1000); setpgid(0, getppid()); }
  printf("%o %u\\n", umask(022), alarm(0));
  if (argc < 2) return 0;
  umask(0123); alarm(1000);
}
""", "-static")]
    plain = run_plainly(argv)
    with Warm(argv) as warm:
        for _ in range(3):
            assert not warm.ask("x").is_clean
            assert warm.ask().seen() == plain.seen()


PERL = ["/usr/bin/perl", f"-I{adapters_dir()}/perl", "-MCGIBridge"]
SCRIPTS = {
    "bash": (lambda path: ["/bin/bash", path], "linked",
             'x=${QUERY_STRING#a=}; echo "$x"; read -r y; echo "$y"\n'),
    "Perl": (lambda path: [*PERL, path], "compiled",
             'use strict; my %q = map { split /=/ } split /&/, $ENV{QUERY_STRING};'
             'print "$q{a} ", scalar <STDIN>;\n'),
    "Python": (python_argv, "compiled",
               "import os, sys\nprint(os.environ['QUERY_STRING'], sys.stdin.read())\n"),
}


@only_x86
@pytest.mark.parametrize("language", SCRIPTS)
def test_a_plain_script_is_clean(folder, language):
    command, level, text = SCRIPTS[language]
    argv = command(folder.script("plain", text))
    with Warm(argv, level=level) as warm:
        answers = [warm.ask(body=b"line\n") for _ in range(4)]
        assert {answer.code for answer in answers} == {0} and b"line" in answers[0].stdout
        assert [answer.is_clean for answer in answers] == [True] * 4
