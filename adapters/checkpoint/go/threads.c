/* When a Go program needs its parked threads. Until then a request has one thread: to the runtime
 * the others look idle or, once it has woken one, slow to come. A goroutine for which it wakes one
 * runs in the first thread as soon as the goroutine there waits for anything, and that is often
 * soon enough: a thread is needed when the first one itself is about to wait, or to start another,
 * and for what computes at the same time. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "calls/passed_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/parked_threads.h"
#include "rewind/threads.h"
#include "static/traps.h"

#if defined(__x86_64__)

static int stage_now(void) {
  return __atomic_load_n(&state.executable.go.stage, __ATOMIC_SEQ_CST);
}

static void await_change_of(enum go_stage stage, const struct timespec *most) {
  raw_call(SYS_futex, &state.executable.go.stage, FUTEX_WAIT, stage, most, NULL, 0);
}

/* If package initialization takes longer than this, the thread that looks after goroutines is let
 * go; requests then begin with an interruption. Shorter pauses are made while threads look for
 * work. */
enum { kHoldsMost = 20, kHoldNanoseconds = 10000000, kLeastPause = 20000 };

/* A wait with a time limit is made in pieces, so that it can be held at any moment. To the runtime
 * each looks like a wait that was ended for nothing, after which it waits again. */
static int hold_wait(const long *words) {
  struct timespec most;
  if ((words[1] & FUTEX_CMD_MASK) != FUTEX_WAIT || words[3] == 0) return 0;
  if (copy_in(&most, words[3], sizeof most) != 0) return 0;
  if (most.tv_sec > 0 || most.tv_nsec > kHoldNanoseconds)
    most = (struct timespec){0, kHoldNanoseconds};
  if (stage_now() == GO_STARTS) raw_call(SYS_futex, words[0], words[1], words[2], &most, NULL, 0);
  while (stage_now() == GO_STANDS) await_change_of(GO_STANDS, NULL);
  return 1;
}

int go_threads_hold(long number, const long *words) {
  static int holds;
  const struct timespec moment = {0, kHoldNanoseconds};
  struct timespec pause;
  if (state.role == ROLE_ZYGOTE && number == SYS_futex) return hold_wait(words);
  if (number != SYS_nanosleep || state.role != ROLE_ZYGOTE) return 0;
  if (copy_in(&pause, words[0], sizeof pause) != 0) return 0;
  int is_held = stage_now() == GO_STANDS;
  while (stage_now() == GO_STARTS && pause.tv_nsec >= kLeastPause && holds < kHoldsMost) {
    await_change_of(GO_STARTS, &moment);
    ++holds;
    is_held = 1;
  }
  while (stage_now() == GO_STANDS) await_change_of(GO_STANDS, NULL);
  return is_held;
}

void go_threads_tell(enum go_stage stage) {
  int *word = &state.executable.go.stage;
  __atomic_store_n(word, stage, __ATOMIC_SEQ_CST);
  raw_call(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- in any case ---- */

enum { kPatienceNanoseconds = 2000000 };

/* Each request makes its own, because a worker at rest has none. */
static int timer_start(void) {
  struct sigevent event;
  struct itimerspec when;
  int timer = 0;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGSYS;
  event._sigev_un._tid = state.pid;
  if (raw_call(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return -1;
  state.executable.go.timer = timer + 1;
  memset(&when, 0, sizeof when);
  when.it_value.tv_nsec = kPatienceNanoseconds;
  return raw_call(SYS_timer_settime, timer, 0, &when, NULL) == 0 ? 0 : -1;
}

void go_threads_expect(void) {
  if (parked_threads.count > 0 && timer_start() != 0) threads_make_again();
}

void go_threads_expect_no_more(void) {
  struct go_program *go = &state.executable.go;
  if (go->timer != 0) raw_call(SYS_timer_delete, go->timer - 1);
  go->timer = 0;
}

/* The timer goes at once: it has a number that the program's own would get. */
static void make_now(void) {
  threads_make_again();
  go_threads_expect_no_more();
}

int go_threads_are_due(const siginfo_t *info) {
  const struct go_program *go = &state.executable.go;
  if (go->timer == 0 || info->si_code != SI_TIMER || info->si_timerid != go->timer - 1) return 0;
  if (state.role == ROLE_ANSWERING) make_now();
  return 1;
}

static int are_missing(void) {
  return state.role == ROLE_ANSWERING && !parked_threads.are_again && parked_threads.count != 0 &&
         raw_call(SYS_getpid) == state.pid; /* no child, in its parent's memory */
}

static int starts_thread(long number, const long *words) {
  return number == SYS_clone && (words[0] & CLONE_THREAD) != 0;
}

/* Calls after which making threads may be forbidden: it could not be done later. */
static int forbids_calls(long number, const long *words) {
  return number == SYS_seccomp || (number == SYS_prctl && words[0] == PR_SET_SECCOMP);
}

/* A thread that is made again compares the word at its address once more, so it may be made after
 * its wake-up. */
void go_threads_see_call(long number, const long *words) {
  if (!are_missing()) return;
  if (starts_thread(number, words) || forbids_calls(number, words) ||
      go_call_may_wait(number, words)) {
    make_now();
  }
}

void go_threads_see_c_call(long number, const long *words) {
  if (program_is_linked_go()) go_threads_see_call(number, words);
}

void go_threads_see_wait(void) {
  if (program_is_go() && are_missing()) make_now();
}

#else

void go_threads_expect_no_more(void) {}
void go_threads_see_wait(void) {}

void go_threads_see_c_call(long number, const long *words) {
  (void)number;
  (void)words;
}

#endif

/* A call of which the timer's signal would make a failure (EINTR): there is none after this. */
void *look_at_wait(const struct passed_call *call, const long *arguments) {
  (void)call;
  (void)arguments;
  go_threads_see_wait();
  return NULL;
}
