"""System calls of a static executable that this library answers, or looks into, before the kernel does."""

import os

import pytest

import driver
from driver import run_plainly

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they run classic")

CLOCKS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void ask(const char *whose, clockid_t clock) {
  struct timespec now = {-1, -1};
  printf("%s: %d %d\n", whose, clock_gettime(clock, &now), now.tv_sec >= 0);
  fflush(stdout);
}
static void *run(void *first) {
  clockid_t clock;
  ask("a thread's own", CLOCK_THREAD_CPUTIME_ID);
  pthread_getcpuclockid(*(pthread_t *)first, &clock);
  ask("the first thread's", clock);
  ask("the process's", CLOCK_PROCESS_CPUTIME_ID);
  struct rusage used;
  printf("%d\n", getrusage(RUSAGE_THREAD, &used));
  return NULL;
}
int main(void) {
  clockid_t clock;
  pthread_t self = pthread_self(), thread;
  pthread_create(&thread, NULL, run, &self);
  pthread_join(thread, NULL);
  clock_getcpuclockid(getppid(), &clock);
  ask("its parent's", clock);
  ask("none", -6);
  ask("none of a clock", 99);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    struct tms used;
    ask("a child's own", CLOCK_PROCESS_CPUTIME_ID);
    printf("%d\n", times(&used) == (clock_t)-1);
    exit(0);
  }
  clock_getcpuclockid(child, &clock);
  waitpid(child, NULL, 0);
}
"""


def test_every_clock_of_processor_time_can_be_asked(folder):
    program = folder.compile("clocks.c", CLOCKS, "-static", "-pthread")
    plain = run_plainly([program])
    driver.answers_in_one_worker([program], plain, times=4)


BAD_ADDRESSES = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static void say(const char *what, long result) {
  int why = errno;
  printf("%s: %d %d\n", what, result < 0, result < 0 ? why : 0);
  fflush(stdout);
}
static void try(void *bad) {
  int end = socket(AF_UNIX, SOCK_STREAM, 0);
  say("open", open(bad, O_WRONLY));
  say("open to read", open(bad, O_RDONLY));
  say("openat", openat(AT_FDCWD, bad, O_RDWR));
  say("creat", creat(bad, 0600));
  say("getrlimit", getrlimit(RLIMIT_CPU, bad));
  say("setrlimit", setrlimit(RLIMIT_CPU, bad));
  say("prlimit", prlimit(0, RLIMIT_CPU, NULL, bad));
  say("sendmsg", sendmsg(end, bad, MSG_NOSIGNAL));
  say("open by number", syscall(SYS_open, bad, O_WRONLY));
  say("openat2", syscall(437, AT_FDCWD, "/dev/null", bad, 24));
  say("clone3", syscall(435, bad, 88));
  say("getrusage", syscall(SYS_getrusage, RUSAGE_SELF, bad));
  say("sigprocmask", syscall(SYS_rt_sigprocmask, SIG_BLOCK, bad, NULL, 8));
  say("sigaction", syscall(SYS_rt_sigaction, SIGUSR1, bad, NULL, 8));
  close(end);
}
int main(void) {
  try((void *)8);
  try((void *)-1);
  if (IS_STATIC) {
    void *gone = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    try(gone);
  }
}
"""


# In a dynamic program only what is clearly no memory is told from it.
@pytest.mark.parametrize("linking", ["static", "dynamic"])
def test_an_address_that_is_no_memory_is_the_kernel_s_to_refuse(folder, linking):
    flags = ["-static", "-DIS_STATIC=1"] if linking == "static" else ["-DIS_STATIC=0"]
    program = folder.compile("addresses.c", BAD_ADDRESSES, *flags)
    plain = run_plainly([program])
    assert b"sigaction: 1 14" in plain.stdout
    with driver.Warm([program]) as warm:
        for _ in range(4):
            assert warm.ask().seen() == plain.seen()


KNOWS_CHILD = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* As vfork() does, with a descriptor of the child. */
static long make(int *descriptor) {
  long result, flags = CLONE_VM | CLONE_VFORK | 0x1000 | SIGCHLD;
  register long id __asm__("r10") = 0;
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_clone), "D"(flags), "S"(0), "d"(descriptor), "r"(id)
                   : "rcx", "r11", "memory");
  if (result == 0) _exit(7);
  return result;
}
int main(void) {
  int descriptor = -1, status = 0;
  long child = make(&descriptor);
  waitpid(child, &status, 0);
  printf("%d %d %d\n", child > 0, descriptor >= 0, WEXITSTATUS(status));
}
"""


def test_a_child_that_borrows_the_stack_is_made_with_all_arguments(folder):
    program = folder.compile("child.c", KNOWS_CHILD, "-static")
    plain = run_plainly([program])
    assert plain.stdout == b"1 1 7\n"
    driver.answers_in_one_worker([program], plain, times=4)
