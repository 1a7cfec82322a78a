/* Calls that the library stands in front of, and what it notes of them: what their files share. */
#ifndef CGIBRIDGE_RARE_CALLS_H
#define CGIBRIDGE_RARE_CALLS_H

#include <errno.h>
#include <stddef.h>

#include "message/wire.h"

/* What rare calls of the program may have changed. */
enum touched {
  TOUCHED_LIMITS = 1 << 0,
  TOUCHED_SCHEDULE = 1 << 1,
  TOUCHED_PRCTL = 1 << 2,
  TOUCHED_MEMORY_LOCKS = 1 << 3,
  TOUCHED_PAGES = 1 << 4,     /* page contents dropped: every page is compared */
  TOUCHED_MAPPINGS = 1 << 5,  /* protections changed: every mapping is compared */
  TOUCHED_THREADS = 1 << 6,   /* a thread was started: libc gives pages of its own back unseen */
  TOUCHED_FILES = 1 << 7,     /* a file or shared memory was mapped, which others can see */
  TOUCHED_SEMAPHORES = 1 << 8 /* the kernel is to undo what was done to semaphores */
};

/* What the kernel answered, as libc tells it. */
static inline long call_result(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

/* rare_calls.c: kind and name of the first call that cannot be undone. */
void call_touch(unsigned what); /* enum touched */
void call_doubt(enum retirement kind, const char *call);
void note_prctl(long option, long what);

/* memory_calls.c */
void note_madvise(const void *start, size_t bytes, int advice);
void note_mprotect(const void *start, size_t bytes, int prot);

/* signal_calls.c */
void note_signal(long number);

#endif
