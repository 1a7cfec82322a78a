#include "usage.h"

#include <time.h>

#include "checkpoint.h"
#include "raw_call.h"

uint64_t usage_microseconds(const struct rusage *usage) {
  return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
         (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

struct usage usage_now(const struct rusage *children) {
  struct usage now = {0};
  raw_call(SYS_getrusage, RUSAGE_SELF, &now.own);
  if (children != NULL) {
    now.children = *children;
  } else {
    raw_call(SYS_getrusage, RUSAGE_CHILDREN, &now.children);
  }
  return now;
}

/* Every process that has run has had a page fault. */
static long faults(const struct rusage *usage) {
  return usage->ru_minflt + usage->ru_majflt;
}

void usage_fill(struct message_done *done, const struct usage *begin, const struct usage *now) {
  uint64_t cpu = usage_microseconds(&now->own) + usage_microseconds(&now->children) -
                 usage_microseconds(&begin->own) - usage_microseconds(&begin->children);
  long peak =
      now->own.ru_maxrss > now->children.ru_maxrss ? now->own.ru_maxrss : now->children.ru_maxrss;
  done->cpu_microseconds = cpu > UINT32_MAX ? UINT32_MAX : (uint32_t)cpu;
  done->peak_kib = (uint32_t)peak;
  if (faults(&now->children) != faults(&begin->children)) done->unusual |= DONE_FORKED;
}

uint64_t usage_faults(const struct usage *usage) {
  return (uint64_t)faults(&usage->own);
}

void cpu_limit_remember(void) {
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  raw_call(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &limit);
  state.processor.seconds = limit.rlim_cur == RLIM_INFINITY ? 0 : limit.rlim_cur;
}

void cpu_limit_renew(void) {
  if (state.processor.seconds == 0) return;
  struct timespec used = {0, 0};
  struct rlimit limit;
  raw_call(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &used);
  if (raw_call(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &limit) != 0) return;
  limit.rlim_cur = (rlim_t)used.tv_sec + (used.tv_nsec > 0) + state.processor.seconds;
  if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
  state.processor.until = limit.rlim_cur;
  raw_call(SYS_prlimit64, 0, RLIMIT_CPU, &limit, NULL);
}
