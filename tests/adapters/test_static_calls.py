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
