/* A lock on what is noted before the checkpoint, by several threads at once. A signal's handler may
 * note something, too, open() being allowed there: whoever holds the lock lets no signal in, or a
 * handler would wait for the code that it has interrupted. A child that the program forks may find
 * the lock held by a thread that it does not have; what a child does is not noted. */
#ifndef CGIBRIDGE_NOTE_LOCK_H
#define CGIBRIDGE_NOTE_LOCK_H

#include <signal.h>
#include <stdint.h>

#include "checkpoint.h"
#include "raw_call.h"

/* 0, with the mask to give back; or -1: nothing is to be noted, and nothing is held. */
static inline int note_lock_take(char *is_held, uint64_t *mask) {
  const uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, mask, sizeof all);
  while (__atomic_test_and_set(is_held, __ATOMIC_ACQUIRE)) {
    if (raw_call(SYS_getpid) != state.pid) {
      raw_call(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, sizeof all);
      return -1;
    }
    raw_call(SYS_sched_yield);
  }
  return 0;
}

static inline void note_lock_give_back(char *is_held, const uint64_t *mask) {
  __atomic_clear(is_held, __ATOMIC_RELEASE);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, sizeof *mask);
}

#endif
