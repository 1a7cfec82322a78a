/* Timers. There are three interval timers, which are stopped; those of timer_create() are counted,
 * because no call lists them. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>

#include "calls/clean.h"
#include "calls/real_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"

/* Calls of which a thread may have done only the kernel's half and not the note, and may be ended
 * there. */
static int calls_under_way;

static void call_begins(void) {
  __atomic_add_fetch(&calls_under_way, 1, __ATOMIC_SEQ_CST);
}

static void call_is_over(void) {
  __atomic_sub_fetch(&calls_under_way, 1, __ATOMIC_SEQ_CST);
}

int timers_are_noted(void) {
  return __atomic_load_n(&calls_under_way, __ATOMIC_SEQ_CST) == 0;
}

/* ---- the list: places with the kernel's number and one more, or kFree ---- */

enum { kFree = 0 };

static int replaces(int *place, int from, int to) {
  return __atomic_compare_exchange_n(place, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static int note_timer(int number) {
  for (size_t i = 0; i < kTimersMax; ++i) {
    if (replaces(&state.timers[i], kFree, number + 1)) return 0;
  }
  __atomic_store_n(&state.has_more_timers, 1, __ATOMIC_SEQ_CST);
  return -1;
}

static void forget_timer(intptr_t number) {
  if (number < 0 || number >= INT_MAX) return;
  for (size_t i = 0; i < kTimersMax; ++i) {
    if (replaces(&state.timers[i], (int)number + 1, kFree)) return;
  }
}

int timers_stand(void) {
  for (size_t i = 0; i < kTimersMax; ++i) {
    if (__atomic_load_n(&state.timers[i], __ATOMIC_SEQ_CST) != kFree) return 1;
  }
  return __atomic_load_n(&state.has_more_timers, __ATOMIC_SEQ_CST);
}

/* ---- numbers: the kernel counts up, in a worker over all of its requests ---- */

#ifndef PR_TIMER_CREATE_RESTORE_IDS
#define PR_TIMER_CREATE_RESTORE_IDS 77 /* Linux 6.16 */
#endif

/* With the number that a process of its own would get, where the kernel lets itself be told one;
 * with another, if that one is in use by a timer that was made unseen. */
static long create(long clock, const struct sigevent *event, int *number) {
  static int is_held; /* while it does, for all threads */
  long is_told = -1;
  go_threads_see_wait(); /* until then Go's have a timer of this library's */
  while (__atomic_test_and_set(&is_held, __ATOMIC_ACQUIRE)) libc_call(SYS_sched_yield);
  if (state.role == ROLE_ANSWERING) {
    is_told = libc_call(SYS_prctl, PR_TIMER_CREATE_RESTORE_IDS, 1, 0, 0, 0);
    *number = state.timers_made;
  }
  long result = libc_call(SYS_timer_create, clock, event, number);
  if (is_told == 0) libc_call(SYS_prctl, PR_TIMER_CREATE_RESTORE_IDS, 0, 0, 0, 0);
  if (is_told == 0 && result == -EBUSY) result = libc_call(SYS_timer_create, clock, event, number);
  if (result == 0) ++state.timers_made;
  __atomic_clear(&is_held, __ATOMIC_RELEASE);
  return result;
}

/* libc's id of a timer is the kernel's number, unless libc has a thread wait for the timer. */
static int create_by_libc(clockid_t clock, struct sigevent *event, timer_t *timer) {
  struct sigevent by_default = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  if (event != NULL && event->sigev_notify == SIGEV_THREAD) {
    cycles_leave();
    int result = REAL(timer_create)(clock, event, timer);
    if (result == 0) __atomic_add_fetch(&state.timers_made, 1, __ATOMIC_SEQ_CST);
    return result;
  }
  int number = 0;
  int result = (int)call_result(create(clock, event != NULL ? event : &by_default, &number));
  if (result == 0) *timer = (timer_t)(intptr_t)number;
  return result;
}

INTERPOSED int timer_create(clockid_t clock, struct sigevent *restrict event,
                            timer_t *restrict timer) {
  call_begins();
  int result = create_by_libc(clock, event, timer);
  if (result == 0) {
    intptr_t number = (intptr_t)*timer;
    if (number < 0 || number >= INT_MAX || note_timer((int)number) != 0) {
      call_doubt(RETIRED_CALL, "timer_create");
    }
  }
  call_is_over();
  return result;
}

INTERPOSED int timer_delete(timer_t timer) {
  call_begins();
  forget_timer((intptr_t)timer); /* before another thread is given its number */
  int result = REAL(timer_delete)(timer);
  call_is_over();
  return result;
}

long timer_create_by_number(const long *words) {
  call_begins();
  if (!may_be_memory((const void *)words[2])) {
    call_is_over();
    return -EFAULT;
  }
  long result = create(words[0], (const struct sigevent *)words[1], (int *)words[2]);
  if (result == 0 && note_timer(*(const int *)words[2]) != 0) {
    call_doubt(RETIRED_CALL, "timer_create");
  }
  call_is_over();
  return result;
}

long timer_delete_by_number(const long *words) {
  call_begins();
  forget_timer((int)words[0]);
  long result = libc_call(SYS_timer_delete, words[0]);
  call_is_over();
  return result;
}

int alarm_runs(void) {
  for (int i = ITIMER_REAL; i <= ITIMER_PROF; ++i) {
    struct itimerval value;
    if (getitimer((__itimer_which_t)i, &value) != 0) continue;
    if (value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0) return 1;
  }
  return 0;
}

void timers_put_back(int was_clean) {
  struct itimerval none;
  memset(&none, 0, sizeof none);
  for (int timer = ITIMER_REAL; !was_clean && timer <= ITIMER_PROF; ++timer) {
    raw_call(SYS_setitimer, timer, &none, NULL);
  }
  for (size_t i = 0; i < kTimersMax; ++i) {
    if (state.timers[i] != kFree) raw_call(SYS_timer_delete, state.timers[i] - 1);
  }
}
