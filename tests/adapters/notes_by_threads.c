/* What several threads note at once in the checkpoint library, by its own code: the list of timers
 * (calls/timers.c), who blocks SIGSYS (static/trapped_signals.c), and the lock on what is noted
 * before the checkpoint (load/note_lock.h). Built with these files under ThreadSanitizer; ends with
 * 1 if something that was noted is lost. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "calls/clean.h"
#include "calls/real_calls.h"
#include "load/note_lock.h"
#include "rewind/engine.h"
#include "static/traps.h"

enum { kThreads = 4, kTurns = 2000, kKept = 3 };

/* ---- what the library's files are linked with ---- */

struct checkpoint_state state;

int traps_in_child(void) {
  return 0;
}

void cycles_leave(void) {}

void go_threads_see_wait(void) {}

long call_by_libc(long number, long a, long b, long c, long d, long e, long f) {
  static int made;
  (void)a, (void)b, (void)d, (void)e, (void)f;
  if (number == SYS_timer_create) *(int *)c = __atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST);
  return 0;
}

static int delete_nothing(timer_t timer) {
  (void)timer;
  return 0;
}

void *real_call(enum real_call call) {
  (void)call;
  return (void *)(uintptr_t)delete_nothing;
}

void call_doubt(enum retirement why, const char *call) {
  (void)why, (void)call;
}

void note_signal(long number) {
  (void)number;
}

int may_be_memory(const void *address) {
  return address != NULL;
}

int go_marks_act(int number, const struct signal_action *action, struct signal_action *old) {
  (void)number, (void)action, (void)old;
  return 0;
}

int copy_in(void *to, long from, size_t bytes) {
  memcpy(to, (const void *)from, bytes);
  return 0;
}

long copy_out(long to, const void *from, size_t bytes) {
  memcpy((void *)to, from, bytes);
  return 0;
}

/* ---- what each thread does ---- */

static __thread int handled;
static timer_t kept[kThreads][kKept];
static long notes;
static char is_held;

static void on_signal(int number) {
  (void)number;
  ++handled;
}

static void mask_signal(int how) {
  ucontext_t context;
  uint64_t mask = 1ull << (SIGSYS - 1);
  const long words[6] = {how, (long)&mask, 0, sizeof mask};
  memset(&context, 0, sizeof context);
  trapped_signal_call(SYS_rt_sigprocmask, words, &context);
}

static void note(void) {
  uint64_t mask;
  note_lock_take(&is_held, &mask);
  ++notes;
  note_lock_give_back(&is_held, &mask);
}

static int keeps_timers(int thread) {
  for (int i = 0; i < kKept; ++i) timer_create(CLOCK_MONOTONIC, NULL, &kept[thread][i]);
  for (int turn = 0; turn < kTurns; ++turn) {
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, NULL, &timer) != 0 || !timers_stand()) return 0;
    timer_delete(timer);
  }
  return 1;
}

static int keeps_signals(void) {
  for (int turn = 0; turn < kTurns; ++turn) {
    mask_signal(SIG_BLOCK);
    if (!own_signal_is_blocked()) return 0;
    if (turn % 2 != 0) own_signal_came(SIGSYS, NULL, NULL);
    mask_signal(SIG_UNBLOCK);
  }
  return handled == kTurns / 2;
}

static void *run(void *number) {
  int are_kept = keeps_timers((int)(long)number) && keeps_signals();
  for (int turn = 0; turn < kTurns; ++turn) note();
  return (void *)(long)are_kept;
}

static int is_noted(timer_t timer) {
  for (int i = 0; i < kTimersMax; ++i) {
    if (state.timers[i] == (int)(long)timer + 1) return 1;
  }
  return 0;
}

int main(void) {
  pthread_t threads[kThreads];
  void *result;
  int are_kept = 1;
  state.pid = getpid();
  signal(SIGSYS, on_signal);
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, run, (void *)i);
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], &result);
    are_kept &= result != NULL;
  }
  for (int i = 0; i < kThreads * kKept; ++i) are_kept &= is_noted(kept[i / kKept][i % kKept]);
  are_kept &= timers_are_noted() && notes == (long)kThreads * kTurns;
  are_kept &= state.timers_made == kThreads * (kKept + kTurns);
  puts(are_kept ? "all noted" : "something is lost");
  return !are_kept;
}
