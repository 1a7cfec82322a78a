/* What the kernel keeps for a process and only a call that nobody saw can have changed: each call
 * that libc makes, or that is handed back (calls/clean.h), costs the worker instead. */
#ifndef CGIBRIDGE_UNSEEN_H
#define CGIBRIDGE_UNSEEN_H

#include <stddef.h>
#include <sys/types.h>

enum { kUnseenMax = 48 };

struct unseen_state {
  struct {
    const char *what; /* in words */
    long answer;      /* the kernel's */
  } looks[kUnseenMax];
  size_t count;
};

/* From the kernel, in some 8 us, for one with capabilities 25; for this one, a worker of that
 * zygote. */
void unseen_read(struct unseen_state *unseen, pid_t own, pid_t zygote);
/* What differs, in words; or NULL. */
const char *unseen_difference(const struct unseen_state *then, pid_t own, pid_t zygote);

#endif
