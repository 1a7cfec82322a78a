"""Things that may exist at a checkpoint although a second process cannot share them: eventfds, of which each
worker gets its own, and timers of timer_create(), which a fork does not copy and a reset deletes."""

import platform

import pytest

from driver import SHALLOWER, Warm, Zygote, run_plainly

EVENTS = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int event;
__attribute__((constructor)) static void early(void) { event = eventfd(5, EFD_NONBLOCK | EFD_CLOEXEC); }
int main(int argc, char **argv) {
  uint64_t count = 0, more = 7;
  printf("%d %x %x ", event, fcntl(event, F_GETFL), fcntl(event, F_GETFD));
  printf("%zd %lu ", read(event, &count, 8), count);
  printf("%zd %d\n", read(event, &count, 8), errno == EAGAIN);
  if (write(event, &more, 8) < 0) return 1;
  if (argc > 1) close(event);
  return 0;
}
"""

TIMERS = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static timer_t timer;
static void make(void) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  struct itimerspec in = {{0}, {1000, 0}};
  timer_create(CLOCK_MONOTONIC, &event, &timer); timer_settime(timer, 0, &in, 0);
}
__attribute__((constructor)) static void early(void) {
  if (EARLY) make();
  if (EARLY > 1) timer_delete(timer);
}
int main(int argc, char **argv) {
  char text[4096] = ""; int fd = open("/proc/self/timers", O_RDONLY);
  read(fd, text, sizeof text - 1); close(fd);
  printf("before: %s\n", text); fflush(stdout);
  make();
  if (argc > 1) _exit(3);
  return 0;
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_each_request_has_an_eventfd_of_its_own(folder, reset):
    program = folder.compile("events.c", EVENTS)
    plain = run_plainly([program])
    with Warm([program], reset=reset) as warm:
        for words in ([], ["close"], [], []):
            assert warm.ask(*words).seen() == plain.seen()
        assert warm.retired == []
    with Zygote([program], reset=reset) as zygote:
        workers = [zygote.worker() for _ in range(3)]
        assert {worker.request([program]).text for worker in workers} == {plain.stdout.decode()}


def test_a_pipe_is_not_taken_for_one(folder):
    text = EVENTS.replace("eventfd(5, EFD_NONBLOCK | EFD_CLOEXEC)", "(pipe(ends), close(ends[1]), ends[0])")
    program = folder.compile("pipe.c", "static int ends[2];\n" + text)
    with Zygote([program]) as zygote:
        assert not zygote.stands and "a pipe" in zygote.note(SHALLOWER)[0]


def test_a_timer_that_a_request_leaves_does_not_cost_its_worker(folder):
    program = folder.compile("timers.c", "#define EARLY 0\n" + TIMERS)
    with Warm([program]) as warm:
        for words in ([], ["leave"], [], []):
            assert warm.ask(*words).text == "before: \n"
        assert (warm.workers, warm.retired) == (1, [])


def test_a_timer_at_the_checkpoint_is_refused_and_one_that_is_gone_is_not(folder):
    with Zygote([folder.compile("timers.c", "#define EARLY 1\n" + TIMERS)]) as zygote:
        assert not zygote.stands and "a timer runs" in zygote.note(SHALLOWER)[0]
    with Zygote([folder.compile("gone.c", "#define EARLY 2\n" + TIMERS)]) as zygote:
        assert zygote.stands


NUMBERS = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void on(int n, siginfo_t *info, void *frame) {
  printf("signal %d of %d: %d\n", n, info->si_timerid, info->si_value.sival_int);
}
static void nothing(union sigval v) {}
static timer_t make(int how) {
  struct sigevent event = {.sigev_notify = how, .sigev_signo = SIGUSR1, .sigev_value = {5}};
  timer_t timer = 0;
  if (how == SIGEV_THREAD) event.sigev_notify_function = nothing, event.sigev_notify_attributes = 0;
  printf("%d ", timer_create(CLOCK_MONOTONIC, how < 0 ? 0 : &event, &timer));
  if (how != SIGEV_THREAD) printf("%ld\n", (long)timer);
  return timer;
}
__attribute__((constructor)) static void early(void) { if (EARLY) timer_delete(make(SIGEV_NONE)); }
int main(int argc, char **argv) {
  struct sigaction action = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
  struct itimerspec soon = {{0}, {0, 1000}};
  sigset_t none; sigemptyset(&none);
  sigaction(SIGUSR1, &action, 0); sigaction(SIGALRM, &action, 0);
  printf("%d\n", timer_create(12345, 0, 0));
  timer_t first = make(SIGEV_SIGNAL);
  if (argc > 1 && !strcmp(argv[1], "thread")) make(SIGEV_THREAD);
  timer_delete(make(SIGEV_NONE));
  timer_t other = make(-1);
  sigset_t blocked; sigemptyset(&blocked); sigaddset(&blocked, SIGUSR1); sigaddset(&blocked, SIGALRM);
  sigprocmask(SIG_BLOCK, &blocked, 0);
  timer_settime(first, 0, &soon, 0); sigsuspend(&none);
  timer_settime(other, 0, &soon, 0); sigsuspend(&none);
  if (argc > 1 && !strcmp(argv[1], "many")) for (int i = 0; i < 100; ++i) make(SIGEV_NONE);
  return 0;
}
"""


@pytest.mark.skipif(tuple(map(int, platform.release().split("-")[0].split(".")[:2])) < (6, 16),
                    reason="before Linux 6.16 the kernel numbers timers by itself")
@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("early", [0, 1])
def test_timers_have_the_numbers_of_a_process_of_its_own(folder, early, reset):
    program = folder.compile("numbers.c", f"#define EARLY {early}\n" + NUMBERS)
    with Warm([program], reset=reset) as warm:
        for words in ([], ["many"], [], ["thread"], []):
            assert warm.ask(*words).seen() == run_plainly([program, *words]).seen()
