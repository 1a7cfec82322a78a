#include "usage.h"

#include <sys/resource.h>
#include <time.h>

#include "checkpoint.h"
#include "raw_call.h"

static uint64_t microseconds(const struct rusage *usage) {
  return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
         (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static uint64_t used(uint32_t *peak_kib) {
  struct rusage own = {0}, children = {0};
  raw_call(SYS_getrusage, RUSAGE_SELF, &own);
  raw_call(SYS_getrusage, RUSAGE_CHILDREN, &children);
  long peak = own.ru_maxrss > children.ru_maxrss ? own.ru_maxrss : children.ru_maxrss;
  *peak_kib = (uint32_t)peak;
  return microseconds(&own) + microseconds(&children);
}

uint64_t usage_cpu(void) {
  uint32_t peak_kib;
  return used(&peak_kib);
}

/* No process lives without a page fault. */
uint64_t usage_children(void) {
  struct rusage children = {0};
  raw_call(SYS_getrusage, RUSAGE_CHILDREN, &children);
  return (uint64_t)children.ru_minflt + (uint64_t)children.ru_majflt;
}

void usage_fill(struct message_done *done, uint64_t cpu_at_start) {
  uint64_t cpu = used(&done->peak_kib) - cpu_at_start;
  done->cpu_microseconds = cpu > UINT32_MAX ? UINT32_MAX : (uint32_t)cpu;
}

void cpu_limit_remember(void) {
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  raw_call(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &limit);
  state.cpu_seconds = limit.rlim_cur == RLIM_INFINITY ? 0 : limit.rlim_cur;
}

void cpu_limit_renew(void) {
  if (state.cpu_seconds == 0) return;
  struct timespec used = {0, 0};
  struct rlimit limit;
  raw_call(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &used);
  if (raw_call(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &limit) != 0) return;
  limit.rlim_cur = (rlim_t)used.tv_sec + (used.tv_nsec > 0) + state.cpu_seconds;
  if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
  raw_call(SYS_prlimit64, 0, RLIMIT_CPU, &limit, NULL);
}
