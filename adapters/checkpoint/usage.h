/* What a request has used, for its DONE. Without libc: see raw_call.h. */
#ifndef CGIBRIDGE_USAGE_H
#define CGIBRIDGE_USAGE_H

#include <stdint.h>

#include "message/wire.h"

/* Microseconds of processor time, user and system, of this process and of the children that it has
 * waited for. */
uint64_t usage_cpu(void);

/* Changes whenever a child was waited for. */
uint64_t usage_children(void);

/* Fills in what was used since usage_cpu() was cpu_at_start, and the process's peak so far. */
void usage_fill(struct message_done *done, uint64_t cpu_at_start);

/* RLIMIT_CPU counts all of a process's life, but is meant for one request: it is remembered at the
 * zygote's start, and moved on in a worker at the start of each request. */
void cpu_limit_remember(void);
void cpu_limit_renew(void);

#endif
