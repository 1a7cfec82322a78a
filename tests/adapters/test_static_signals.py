"""Signals that come to a static executable while one of its calls is carried out in its place."""

import os

import pytest

import driver
from driver import run_plainly

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they run classic")

COUNTS_CALLS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int came, stop;
static pid_t first;
static void on_signal(int number) { came += number == SIGSYS; }
static void *send(void *unused) {
    while (!stop) {
        int before = came;
        syscall(SYS_tgkill, getpid(), first, SIGSYS);
        for (long i = 0; i < 1000000 && came == before && !stop; ++i) continue;
    }
    return unused;
}
int main(void) {
    pthread_t sender;
    int lost = 0, file = memfd_create("counter", 0);
    first = getpid();
    signal(SIGSYS, on_signal);
    pthread_create(&sender, NULL, send, NULL);
    for (long i = 1; i <= 60000; ++i) {
        lost += syscall(SYS_lseek, file, 1, SEEK_CUR) != i;
        if (lost) break;
    }
    stop = 1;
    pthread_join(sender, NULL);
    printf("lost %d, some signals came: %d\n", lost, came > 0);
    return 0;
}
"""


# The signal that hands a call back is dropped by the kernel if the same one is pending in that thread.
def test_no_call_is_lost_while_the_same_signal_comes(folder):
    program = folder.compile("counts.c", COUNTS_CALLS, "-static", "-pthread")
    plain = run_plainly([program])
    assert plain.stdout == b"lost 0, some signals came: 1\n"
    driver.answers_in_one_worker([program], plain, times=4)


VFORKS = r"""
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int came;
static char other[65536];
static void on_signal(int number) { ++came; }
int main(void) {
  stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
  struct itimerval often = {{0, 61}, {0, 61}}, never = {{0, 0}, {0, 0}};
  int wrong = 0, status;
  pid_t self = getpid();
  sigaltstack(&stack, NULL);
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 1000; ++i) {
    pid_t child = vfork();
    if (child == 0) _exit(i & 63);
    if (getpid() != self) _exit(99);
    wrong += waitpid(child, &status, 0) != child || WEXITSTATUS(status) != (i & 63);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  printf("wrong %d, some signals came: %d\n", wrong, came > 0);
}
"""


def test_no_child_is_lost_while_signals_come_on_a_stack_of_their_own(folder):
    program = folder.compile("vforks.c", VFORKS, "-static")
    plain = run_plainly([program])
    assert plain.stdout == b"wrong 0, some signals came: 1\n"
    driver.answers_in_one_worker([program], plain, times=3)


BLOCKS_ALL = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int stands;
static void on_signal(int number) { write(1, "handled\n", 8); }
static void show(const char *who) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  printf("%s: %d %d\n", who, sigismember(&now, SIGSYS), sigismember(&now, SIGUSR1));
  fflush(stdout);
}
static void *inherit(void *unused) { show("a thread of one that blocks all"); return unused; }
static void *block(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_t other;
  pthread_create(&other, NULL, inherit, NULL);
  pthread_join(other, NULL);
  show("one that blocks all");
  stands = 1;
  for (;;) pause();
}
int main(void) {
  sigset_t all, some;
  pthread_t thread;
  signal(SIGUSR1, on_signal);
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  raise(SIGUSR1);
  sigemptyset(&some);
  sigaddset(&some, SIGSYS);
  sigprocmask(SIG_SETMASK, &some, NULL);
  show("the first");
  signal(SIGSYS, on_signal);
  raise(SIGSYS);
  puts("waits");
  fflush(stdout);
  sigprocmask(SIG_UNBLOCK, &some, NULL);
  pthread_create(&thread, NULL, block, NULL);
  while (!stands) usleep(100);
  show("beside it");
  raise(SIGSYS);
  raise(SIGUSR1);
}
"""


# A pending signal is delivered while the mask is set; its handler's calls are handed back like others.
def test_a_mask_that_names_the_signal_of_the_calls_is_the_thread_s_own(folder):
    program = folder.compile("blocks.c", BLOCKS_ALL, "-static", "-pthread")
    plain = run_plainly([program])
    assert plain.stdout.count(b"handled\n") == 4
    driver.answers_in_one_worker([program], plain, times=4)


ACTIONS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static int depth;
static sigjmp_buf back;
static void say(const char *what) { write(1, what, strlen(what)); }
static int blocks(int number) {
  sigset_t now; sigprocmask(SIG_SETMASK, NULL, &now); return sigismember(&now, number);
}
static void on_other(int number) { say("other\n"); }
static void on_signal(int number) {
  say(blocks(SIGUSR1) ? "USR1 blocked\n" : "USR1 free\n");
  say(blocks(SIGSYS) ? "SYS blocked\n" : "SYS free\n");
  raise(SIGUSR1);
  if (++depth < 3) raise(SIGSYS);
  say("end of the handler\n");
}
static void on_leave(int number) { siglongjmp(back, 1); }
static void on_change(int number, siginfo_t *info, void *context) {
  sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGSYS);
}
static void on_alarm(int number) {}
static void install(void (*handler)(int), int flags, int with_mask) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  if (with_mask) sigaddset(&action.sa_mask, SIGUSR1);
  sigaction(SIGSYS, &action, NULL);
}
static void state(void) {
  struct sigaction now; sigaction(SIGSYS, NULL, &now);
  printf("%d %d %d\n", now.sa_handler == SIG_DFL, blocks(SIGUSR1), blocks(SIGSYS));
  fflush(stdout);
}
static void interrupted(int flags) {
  int ends[2]; char byte; pipe(ends);
  install(on_alarm, flags, 0);
  pid_t parent = getpid(), child = fork();
  if (child == 0) { usleep(30000); kill(parent, SIGSYS); usleep(30000); write(ends[1], "x", 1); _exit(0); }
  ssize_t got = read(ends[0], &byte, 1);
  printf("%zd %d\n", got, got < 0 ? errno : 0); fflush(stdout);
  waitpid(child, NULL, 0);
}
int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  signal(SIGUSR1, on_other);
  if (!strcmp(what, "mask")) { install(on_signal, 0, 1); raise(SIGSYS); }
  if (!strcmp(what, "deferred")) { install(on_signal, 0, 0); raise(SIGSYS); }
  if (!strcmp(what, "not deferred")) { install(on_signal, SA_NODEFER, 1); raise(SIGSYS); }
  if (!strcmp(what, "once")) { install(on_alarm, SA_RESETHAND, 0); raise(SIGSYS); state(); raise(SIGSYS); }
  if (!strcmp(what, "left") && sigsetjmp(back, 1) == 0) { install(on_leave, 0, 1); raise(SIGSYS); }
  if (!strcmp(what, "changed")) {
    struct sigaction action = {.sa_sigaction = on_change, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL); raise(SIGSYS);
  }
  if (!strcmp(what, "ends a read")) interrupted(0);
  if (!strcmp(what, "goes on")) interrupted(SA_RESTART);
  state();
}
"""


@pytest.mark.parametrize("what", ["", "mask", "deferred", "not deferred", "once", "left", "changed",
                                  "ends a read", "goes on"])
def test_an_action_for_the_signal_of_the_calls_is_obeyed(folder, what):
    argv = [folder.compile("actions.c", ACTIONS, "-static")]
    plain, untouched = run_plainly([*argv, what]), run_plainly(argv)
    with driver.Warm(argv) as warm:
        for _ in range(2):
            assert warm.ask(what).seen() == plain.seen()
            assert warm.ask().seen() == untouched.seen()
