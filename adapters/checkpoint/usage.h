/* What a request has used, for its DONE. Without libc: see raw_call.h. */
#ifndef CGIBRIDGE_USAGE_H
#define CGIBRIDGE_USAGE_H

#include <stdint.h>

#include "message/wire.h"

struct usage {
  uint64_t cpu; /* microseconds, user and system, of this process and of the children that
                   it has waited for */
  uint64_t children_faults; /* changes whenever a child was waited for */
  uint32_t peak_kib;        /* of memory, of this process or a child */
};

struct usage usage_now(void);

/* Fills in what was used since begin, the peak so far, and DONE_FORKED. */
void usage_fill(struct message_done *done, const struct usage *begin);

/* RLIMIT_CPU counts all of a process's life, but is meant for one request: it is remembered at the
 * zygote's start, and moved on in a worker at the start of each request. */
void cpu_limit_remember(void);
void cpu_limit_renew(void);

#endif
