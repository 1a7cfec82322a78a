/* Timers. There are three interval timers, which are stopped; those of timer_create() are counted,
 * because no call lists them. */
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "engine.h"
#include "raw_call.h"

/* libc's id of a timer is the kernel's number, unless libc has a thread wait for the timer. */
INTERPOSED int timer_create(clockid_t clock, struct sigevent *restrict event,
                            timer_t *restrict timer) {
  static int (*real)(clockid_t, struct sigevent *, timer_t *);
  if (real == NULL) {
    real = (int (*)(clockid_t, struct sigevent *, timer_t *))dlsym(RTLD_NEXT, "timer_create");
  }
  int result = real(clock, event, timer);
  if (result != 0) return result;
  intptr_t number = (intptr_t)*timer;
  if (number < 0 || number > INT_MAX || state.timer_count == kTimersMax) {
    call_doubt(RETIRED_CALL, "timer_create");
  } else {
    state.timers[state.timer_count++] = (int)number;
  }
  return 0;
}

INTERPOSED int timer_delete(timer_t timer) {
  static int (*real)(timer_t);
  for (size_t i = 0; i < state.timer_count && i < kTimersMax; ++i) {
    if (state.timers[i] != (intptr_t)timer) continue;
    state.timers[i] = state.timers[--state.timer_count];
    break;
  }
  if (real == NULL) real = (int (*)(timer_t))dlsym(RTLD_NEXT, "timer_delete");
  return real(timer);
}

int alarm_runs(void) {
  for (int i = ITIMER_REAL; i <= ITIMER_PROF; ++i) {
    struct itimerval value;
    if (getitimer((__itimer_which_t)i, &value) != 0) continue;
    if (value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0) return 1;
  }
  return 0;
}

void timers_put_back(void) {
  struct itimerval none;
  memset(&none, 0, sizeof none);
  for (int timer = ITIMER_REAL; timer <= ITIMER_PROF; ++timer) {
    raw_call(SYS_setitimer, timer, &none, NULL);
  }
  for (size_t i = 0; i < state.timer_count && i < kTimersMax; ++i) {
    raw_call(SYS_timer_delete, state.timers[i]);
  }
}
