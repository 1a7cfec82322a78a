/* What a request has used, for its DONE. Without libc: see raw_call.h. */
#ifndef CGIBRIDGE_USAGE_H
#define CGIBRIDGE_USAGE_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "message/wire.h"

struct usage {
  struct rusage own, children; /* the children that it has waited for */
};

struct processor_time {
  struct usage before; /* used by the zygote, until the checkpoint */
  uint64_t seconds;    /* RLIMIT_CPU as it was at the start: applies to each request; 0: none */
  uint64_t until;      /* if it applies: the limit of this request, in the process's own time */
  int lowers_limit;    /* the request has lowered the hard limit */
};

/* children: their usage, if it is known, or NULL. */
struct usage usage_now(const struct rusage *children);
/* Of this process, so far. */
uint64_t usage_faults(const struct usage *usage);
/* Of processor time, user and system. */
uint64_t usage_microseconds(const struct rusage *usage);

/* Fills in what was used from begin to now, the peak so far, and DONE_FORKED. */
void usage_fill(struct message_done *done, const struct usage *begin, const struct usage *now);

/* worker.c: when the request began, in a worker that is not put back. */
const struct usage *worker_usage_at_start(void);

/* processor_time.c: the function to use as clock_gettime() for one of this process's own clocks of
 * processor time; NULL: the usual one. */
void *processor_clock_instead(clockid_t clock);
/* getrusage(), times(), clock_gettime() of any clock, by number: as libc's functions return. */
long processor_time_by_number(long number, const long *words);
/* prlimit(2), with limits of processor time as if the request had a process of its own. */
long processor_limit(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old);
void processor_limit_of_child(void); /* in the child of a fork() */

/* RLIMIT_CPU counts the whole life of a process, but is meant for one request: it is remembered at
 * the zygote's start, and moved forward in a worker at the start of each request. */
void cpu_limit_remember(void);
void cpu_limit_renew(void);

#endif
