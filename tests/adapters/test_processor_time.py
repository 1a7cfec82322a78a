"""A program sees the processor time, and has the limit, of a process for its request alone, however much the
worker has used for other requests."""

import signal

import pytest

import ruby
from driver import Warm, adapters_dir

PERL, PYTHON = "/usr/bin/perl", "/usr/bin/python3"
BURNT = 0.7  # seconds that a burning request uses: three of them are more than all other requests use

C = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double clock_of(clockid_t clock) {
  struct timespec now; clock_gettime(clock, &now); return now.tv_sec + now.tv_nsec / 1e9;
}
static double real(void) {
  struct timespec now; syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}
static void burn(double seconds) { for (double end = real() + seconds; real() < end;) {} }
static double of(int who) {
  struct rusage used; getrusage(who, &used);
  return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}
static void show(void) {
  clockid_t own; clock_getcpuclockid(0, &own);
  struct tms all; times(&all);
  printf("clock %f\n", clock() / (double)CLOCKS_PER_SEC);
  printf("process %f\nthread %f\nby-id %f\n", clock_of(CLOCK_PROCESS_CPUTIME_ID),
         clock_of(CLOCK_THREAD_CPUTIME_ID), clock_of(own));
  printf("self %f\nof-thread %f\nchildren %f\n", of(RUSAGE_SELF), of(RUSAGE_THREAD), of(RUSAGE_CHILDREN));
  printf("times %f\ntimes-children %f\n", (all.tms_utime + all.tms_stime) / 100.0,
         (all.tms_cutime + all.tms_cstime) / 100.0);
}
int main(int argc, char **argv) {
  clock_t at_start = clock();
  const char *what = argc > 1 ? argv[1] : "";
  struct rlimit limit = {1, RLIM_INFINITY};
  if (strcmp(what, "burn") == 0) burn(BURNT);
  if (strcmp(what, "child") == 0 && fork() == 0) { burn(BURNT); _exit(0); }
  if (strcmp(what, "limit") == 0 || strcmp(what, "over") == 0) setrlimit(RLIMIT_CPU, &limit);
  if (strcmp(what, "limit") == 0) burn(0.3);
  if (strcmp(what, "over") == 0) burn(3.5);
  while (wait(NULL) > 0) {}
  getrlimit(RLIMIT_CPU, &limit);
  printf("limit %ld\nsince-start %d\n", (long)limit.rlim_cur, clock() >= at_start);
  fflush(stdout);
  if (fork() == 0) {
    getrlimit(RLIMIT_CPU, &limit);
    printf("limit-of-child %ld\n", (long)limit.rlim_cur); fflush(stdout); _exit(0);
  }
  wait(NULL);
  show();
  return 0;
}
""".replace("BURNT", str(BURNT))

PERL_TEXT = r"""
use POSIX ();
my @none = times; my $end = $none[0] + $none[1] + (@ARGV ? %s : 0);
while (1) { my @now = times; last if $now[0] + $now[1] >= $end; 1 for 1 .. 10000 }
my @now = times; printf "times %%f\nclock %%f\n", $now[0] + $now[1], POSIX::clock() / 1e6;
""" % BURNT
PYTHON_TEXT = """
import os, resource, sys, time
end = time.process_time() + (%s if len(sys.argv) > 1 else 0)
while time.process_time() < end: pass
used = resource.getrusage(resource.RUSAGE_SELF)
print("process", time.process_time(), "\\nthread", time.thread_time())
print("self", used.ru_utime + used.ru_stime)
print("times", os.times().user + os.times().system)
""" % BURNT
RUBY_TEXT = """
now = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
last = now.() + (ARGV.empty? ? 0 : %s)
while now.() < last do end
puts "process #{now.()}\\ntimes #{Process.times.utime + Process.times.stime}"
""" % BURNT
def shown(answer):
    assert answer.code == 0, answer.seen()
    return {name: float(value) for name, value in (line.split() for line in answer.text.splitlines())}


def native(folder, **options):
    return Warm([folder.compile("x.c", C)], **options)


@pytest.mark.parametrize("reset", ["rewind", "none"])
def test_what_others_used_is_not_shown(folder, reset):
    with native(folder, reset=reset) as warm:
        for _ in range(2):
            warm.ask("burn")
        warm.ask("child")
        found = shown(warm.ask())
        burnt = shown(warm.ask("burn"))
    assert found.pop("since-start") == 1
    assert all(value < BURNT for value in found.values()), found
    for name in ("clock", "process", "thread", "by-id", "self", "of-thread"):
        assert BURNT <= burnt[name] < 2 * BURNT, (name, burnt)


def test_a_child_of_its_own_is_shown(folder):
    with native(folder) as warm:
        warm.ask("child")
        found = shown(warm.ask("child"))
    assert BURNT <= found["children"] < 2 * BURNT and BURNT * 0.9 <= found["times-children"] < 2 * BURNT


def test_a_limit_counts_from_the_request(folder):
    with native(folder) as warm:
        for _ in range(3):
            warm.ask("burn")
        found = shown(warm.ask("limit"))
        assert found["limit"] == found["limit-of-child"] == 1
        for _ in range(2):
            warm.ask("burn")
        answer = warm.ask("over")
        assert answer.code == -signal.SIGXCPU, answer.seen()
        assert shown(warm.ask())["limit"] == -1


@pytest.mark.parametrize("language", ["perl", "python", "ruby"])
def test_interpreters_are_shown_the_same(folder, needs, language):
    needs(language if language != "python" else "python3")
    text = {"perl": PERL_TEXT, "python": PYTHON_TEXT, "ruby": RUBY_TEXT}[language]
    script = folder.script(f"x.{language}", text)
    launch = {"perl": [PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script],
              "python": [PYTHON, f"{adapters_dir()}/python/start.py", "--preload=", script],
              "ruby": ruby.command(script)}[language]
    with Warm(launch, level="compiled") as warm:
        for _ in range(3):
            warm.ask("burn")
        found = shown(warm.ask())
        burnt = shown(warm.ask("burn"))
    assert all(value < BURNT for value in found.values()), found
    assert all(BURNT * 0.9 <= value < 2.5 * BURNT for value in burnt.values()), burnt
