"""A constructor that reads the processor's counter of cycles has a clock, or a seed, that all visitors would
share. The instruction is made to fail until it is noticed; nobody else may be hit by that."""

import platform
import signal

import pytest

from driver import REQUEST_ENV, SHALLOWER, Warm, Zygote, run_plainly

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have other counters")
EARLY = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static unsigned long n;
static unsigned long cycles(void) { return __builtin_ia32_rdtsc(); }
static unsigned long cycles_and_processor(void) { unsigned at; return __builtin_ia32_rdtscp(&at); }
static void *count(void *unused) { n = cycles() != 0; return 0; }
static void in_deaf_thread(void) {
  sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0);
  pthread_t thread; pthread_create(&thread, 0, count, 0); pthread_join(thread, 0);
  sigprocmask(SIG_UNBLOCK, &all, 0); }
static void deaf(void) {
  sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); n = cycles() != 0;
  sigprocmask(SIG_UNBLOCK, &all, 0); }
static void must(int result) { if (result != 0) abort(); }
static void child(void) {
  int status; if (fork() == 0) _exit(cycles() == 0); wait(&status); must(status); }
static void program(void) {
  int status; if (vfork() == 0) { execl("/bin/sh", "sh", "-c", "date >/dev/null", NULL); _exit(1); }
  wait(&status); must(status); }
static void handled(int number) { n += number == SIGSEGV; }
static void own_handler(void) {
  struct sigaction old = {0}, own = {.sa_handler = handled};
  sigaction(SIGSEGV, NULL, &old); must(old.sa_handler != SIG_DFL);
  sigaction(SIGSEGV, &own, &old); must(old.sa_handler != SIG_DFL);
  raise(SIGSEGV); must(n != 1); signal(SIGSEGV, SIG_DFL); }
static void nothing(void) {}
__attribute__((constructor)) static void early(void) { EARLY; }
int main() {
  int mode = 0;
  prctl(PR_GET_TSC, &mode);
  printf("%d %d\n", mode == PR_TSC_ENABLE, cycles() < cycles_and_processor());
  return 0;
}
"""


def early(folder, text):
    return folder.compile("early.c", EARLY.replace("{ EARLY; }", f"{{ {text}; }}"))


@pytest.mark.parametrize("text", ["n = cycles()", "n = cycles_and_processor()"])
def test_a_constructor_that_reads_it_is_noticed(folder, text):
    with Zygote([early(folder, text)], reset="rewind") as zygote:
        assert not zygote.stands
        assert "time (rdtsc" in zygote.note(SHALLOWER)[0], zygote.notes


def test_so_is_a_library_s(folder):
    library = folder.compile("counts.c", r"""
unsigned long drawn;
__attribute__((constructor)) static void early(void) { drawn = __builtin_ia32_rdtsc(); }
""", "-shared", "-fPIC")
    program = folder.compile("program.c", "extern long drawn; int main() { return drawn == 0; }", library)
    with Zygote([program], reset="rewind") as zygote:
        assert not zygote.stands
        assert "rdtsc, called by counts" in zygote.note(SHALLOWER)[0], zygote.notes


@pytest.mark.parametrize("text", ["nothing()", "child()", "program()", "must(system(\"date >/dev/null\"))",
                                  "in_deaf_thread()", "deaf()", "own_handler()"])
def test_nobody_else_is_hit(folder, text):
    program = early(folder, text)
    with Warm([program], accept="children") as warm:
        assert warm.stands, warm.notes
        plain = run_plainly([program], env=REQUEST_ENV).seen()
        assert plain[0] == b"1 1\n", plain
        assert [warm.ask().seen() for _ in range(3)] == [plain] * 3


@pytest.mark.parametrize("place", ["8", "0x8000000000000000"])
def test_another_fault_ends_the_process_as_always(folder, place):
    with Zygote([early(folder, f"*(volatile int *){place} = 1")], reset="rewind") as zygote:
        assert not zygote.stands
        assert zygote.process.wait(30) == -signal.SIGSEGV
