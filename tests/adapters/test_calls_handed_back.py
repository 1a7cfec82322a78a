"""A program's own system call instructions are seen in requests that are no longer clean, too: what they set
is put back, or costs the worker; and they do what they would do without us."""

import os

import pytest

from acts import RAW_CALL
from driver import Warm, run_plainly

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere no call is handed back")

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
""" + RAW_CALL + r"""
static char other[65536];
static volatile int came;
static void on_signal(int number) { ++came; raw(SYS_getppid, 0, 0, 0, 0); }
static void show(void) {
  struct rlimit limit; getrlimit(RLIMIT_CORE, &limit);
  int mode; syscall(SYS_get_mempolicy, &mode, 0, 0, 0, 0);
  cpu_set_t set; sched_getaffinity(0, sizeof set, &set);
  stack_t now; sigaltstack(NULL, &now);
  sigset_t blocked; sigprocmask(SIG_BLOCK, NULL, &blocked);
  struct sigaction action; sigaction(SIGUSR2, NULL, &action);
  char name[20] = ""; prctl(PR_GET_NAME, name);
  printf("%ld %x %d %d %d %d %d %s %ld\n", (long)limit.rlim_cur, personality(0xffffffff), mode,
         CPU_COUNT(&set), now.ss_sp == other, sigismember(&blocked, SIGUSR1), action.sa_handler == SIG_IGN,
         name, (long)prctl(PR_GET_TIMERSLACK));
}
/* What makes the request unclean. */
static void begin(const char *how) {
  static stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
  if (!strcmp(how, "umask")) umask(022);
  if (!strcmp(how, "a limit")) { struct rlimit l; getrlimit(RLIMIT_NPROC, &l); setrlimit(RLIMIT_NPROC, &l); }
  if (!strcmp(how, "a call")) raw(SYS_getpriority, 0, 0, 0, 0);
  if (!strcmp(how, "a library")) dlopen("libresolv.so.2", RTLD_NOW) || dlopen("libm.so.6", RTLD_NOW);
  if (!strcmp(how, "a stack")) sigaltstack(&stack, NULL);
  if (!strcmp(how, "a name")) prctl(PR_SET_NAME, "another");
  if (!strcmp(how, "a mask")) {
    sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, NULL);
  }
  if (!strcmp(how, "a look")) {
    char text[64]; int file = open("/proc/self/status", O_RDONLY); read(file, text, 64); close(file);
  }
}
static void act(const char *what) {
  struct rlimit limit = {77, RLIM_INFINITY};
  unsigned long one = 1, mask = 1ul << (SIGUSR1 - 1), ignored[16] = {1};
  struct itimerval soon = {{0, 0}, {0, 20000}};
  stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
  int ends[2], status;
  long result = 0;
  char byte;
  if (!strcmp(what, "limit")) result = raw(SYS_setrlimit, RLIMIT_CORE, (long)&limit, 0, 0);
  if (!strcmp(what, "personality")) raw(SYS_personality, 0x0040000, 0, 0, 0);
  if (!strcmp(what, "processor")) result = raw(SYS_sched_setaffinity, 0, 8, (long)&one, 0);
  if (!strcmp(what, "slack")) result = raw(SYS_prctl, PR_SET_TIMERSLACK, 77777, 0, 0);
  if (!strcmp(what, "name")) result = raw(SYS_prctl, PR_SET_NAME, (long)"third", 0, 0);
  if (!strcmp(what, "policy")) result = raw(SYS_set_mempolicy, 4, 0, 0, 0);
  if (!strcmp(what, "old policy"))
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(276), "b"(4), "c"(0), "d"(0) : "memory", "r8", "r9",
                     "r10", "r11");
  if (!strcmp(what, "owner")) {
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    result = raw(SYS_fcntl, ends[0], F_SETOWN, getpid(), 0);
  }
  if (!strcmp(what, "stack")) result = raw(SYS_sigaltstack, (long)&stack, 0, 0, 0);
  if (!strcmp(what, "mask")) result = raw(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, 0, 8);
  if (!strcmp(what, "action")) result = raw(SYS_rt_sigaction, SIGUSR2, (long)ignored, 0, 8);
  if (!strcmp(what, "own action")) {
    struct sigaction now; sigaction(SIGSYS, NULL, &now); result = now.sa_handler == SIG_DFL;
  }
  /* A wait that a handler interrupts, which makes a call itself; and one that goes on. */
  for (int restarts = 0; restarts < 2; ++restarts) {
    if (strcmp(what, "wait")) break;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = restarts ? SA_RESTART : 0};
    sigaction(SIGALRM, &action, NULL);
    pipe(ends);
    if (restarts && fork() == 0) { usleep(60000); write(ends[1], "x", 1); _exit(0); }
    setitimer(ITIMER_REAL, &soon, NULL);
    result = raw(SYS_read, ends[0], (long)&byte, 1, 0);
    printf("%ld %d\n", result, came);
    if (restarts) wait(NULL);
  }
  /* All signals are blocked while the handler runs. */
  if (!strncmp(what, "masked ", 7)) {
    sigset_t all, one;
    sigfillset(&all); sigdelset(&all, SIGALRM);
    sigemptyset(&one); sigaddset(&one, SIGALRM);
    signal(SIGALRM, on_signal);
    sigprocmask(SIG_BLOCK, &one, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    if (strstr(what, "suspend")) result = sigsuspend(&all);
    if (strstr(what, "poll")) result = ppoll(NULL, 0, NULL, &all);
    if (strstr(what, "select")) result = pselect(0, NULL, NULL, NULL, NULL, &all);
    printf("%d\n", came);
  }
  if (!strcmp(what, "fork")) {
    long child = raw(SYS_fork, 0, 0, 0, 0);
    if (child == 0) { raw(SYS_umask, 0, 0, 0, 0); raw(SYS_exit_group, 7, 0, 0, 0); }
    result = waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7;
  }
  if (!strcmp(what, "map")) {
    char *place = (char *)raw(SYS_mmap, 0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS);
    result = (long)place < 0 && (long)place > -4096;
  }
  if (!strcmp(what, "exec")) {
    char *words[] = {"true", NULL};
    raw(SYS_execve, (long)"/bin/true", (long)words, 0, 0);
  }
  if (!strcmp(what, "end")) { printf("at once\n"); fflush(stdout); raw(SYS_exit_group, 5, 0, 0, 0); }
  printf("%s %ld\n", what, result);
}
int main(int argc, char **argv) {
  if (argc < 2) show();
  else { begin(argv[1]); act(argv[2]); act(argc > 3 ? argv[3] : ""); }
  puts("end");
}
"""
BEGINS = ["umask", "a limit", "a call", "a library", "a stack", "a name"]
UNSEEN = ["a mask", "a look"]  # from then on no call is handed back
SETS = ["limit", "personality", "processor", "slack", "name", "stack", "mask", "action"]
COSTS = ["policy", "old policy", "owner"]
DOES = ["own action", "wait", "fork", "map", "exec", "end", "masked suspend", "masked poll",
        "masked select"]


@pytest.fixture
def program(folder):
    return [folder.compile("instructions.c", SOURCE)]


@pytest.mark.parametrize("begin", [*BEGINS, *UNSEEN])
def test_what_an_instruction_sets_is_gone_in_the_next_request(program, begin):
    plain = run_plainly(program)
    with Warm(program) as warm:
        for what in SETS:
            done = run_plainly([*program, begin, what])
            assert warm.ask(begin, what).seen() == done.seen(), what
            assert warm.ask().seen() == plain.seen(), what
        assert warm.retired == []


@pytest.mark.parametrize("begin", BEGINS)
def test_what_cannot_be_put_back_costs_the_worker(program, begin):
    plain = run_plainly(program)
    with Warm(program, verify=False) as warm:
        for what in COSTS:
            answer = warm.ask(begin, "slack", what)  # not the first of them
            assert (answer.retirement, answer.code) == ("call", 0), (what, answer.reason)
            assert warm.ask().seen() == plain.seen(), what


@pytest.mark.parametrize("begin", ["", *BEGINS])
def test_each_call_does_what_it_would_do(program, begin):
    with Warm(program) as warm:
        for what in DOES:
            done = run_plainly([*program, begin, what, "limit"])
            answer = warm.ask(begin, what, "limit")
            assert answer.seen() == done.seen(), what
