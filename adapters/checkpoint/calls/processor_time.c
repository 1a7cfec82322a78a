/* A process that answers many requests has used processor time before each of them began, and its
 * limit of that time counts for its whole life. A program is shown what it would have used in a
 * process of its own: what its zygote had used at the checkpoint, plus what was used since the
 * request began. */
#include <stdint.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "calls/clean.h"
#include "calls/passed_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "usage.h"

enum { kMicroseconds = 1000000, kClockTypeBits = 3, kClockOfThread = 4 };

static const struct usage *usage_at_start(void) {
  return state.reset == RESET_REWIND ? &state.engine->usage_at_start : worker_usage_at_start();
}

/* NULL in any other process, for which the kernel's figures are right. */
static const struct usage *begin_of_request(void) {
  if (state.role != ROLE_ANSWERING || libc_call(SYS_getpid) != state.pid) return NULL;
  return usage_at_start();
}

static int64_t microseconds(const struct timeval *time) {
  return (int64_t)time->tv_sec * kMicroseconds + time->tv_usec;
}

static int64_t since(int64_t now, int64_t begin, int64_t before) {
  return (now > begin ? now - begin : 0) + before;
}

static void show_time(struct timeval *now, const struct timeval *begin,
                      const struct timeval *before) {
  int64_t shown = since(microseconds(now), microseconds(begin), microseconds(before));
  *now = (struct timeval){shown / kMicroseconds, shown % kMicroseconds};
}

/* Its peak memory cannot be counted from the beginning of a request. */
static void show(struct rusage *now, const struct rusage *begin, const struct rusage *before) {
  show_time(&now->ru_utime, &begin->ru_utime, &before->ru_utime);
  show_time(&now->ru_stime, &begin->ru_stime, &before->ru_stime);
#define SHOW(count) now->count = (long)since(now->count, begin->count, before->count)
  SHOW(ru_minflt);
  SHOW(ru_majflt);
  SHOW(ru_inblock);
  SHOW(ru_oublock);
  SHOW(ru_nvcsw);
  SHOW(ru_nivcsw);
#undef SHOW
}

static int own_getrusage(int who, struct rusage *usage) {
  long result = libc_call(SYS_getrusage, who, usage);
  const struct usage *begin = begin_of_request();
  if (result == 0 && begin != NULL && who == RUSAGE_CHILDREN) {
    show(usage, &begin->children, &state.processor.before.children);
  } else if (result == 0 && begin != NULL &&
             (who == RUSAGE_SELF || libc_call(SYS_gettid) == state.pid)) {
    show(usage, &begin->own, &state.processor.before.own);
  }
  return (int)call_result(result);
}

static clock_t ticks(const struct timeval *time) {
  return (clock_t)(microseconds(time) * sysconf(_SC_CLK_TCK) / kMicroseconds);
}

static clock_t own_times(struct tms *times) {
  long result = libc_call(SYS_times, times);
  if (times == NULL || (result < 0 && result > -4096)) return (clock_t)call_result(result);
  struct rusage own, children;
  own_getrusage(RUSAGE_SELF, &own);
  own_getrusage(RUSAGE_CHILDREN, &children);
  *times = (struct tms){ticks(&own.ru_utime), ticks(&own.ru_stime), ticks(&children.ru_utime),
                        ticks(&children.ru_stime)};
  return (clock_t)result;
}

/* clock_getcpuclockid(3): by the number of a process or thread, as the kernel's
 * make_process_cpuclock does. */
static int is_of_own_processor_time(clockid_t clock) {
  if (clock == CLOCK_PROCESS_CPUTIME_ID) return 1;
  if (clock >= 0) return clock == CLOCK_THREAD_CPUTIME_ID && libc_call(SYS_gettid) == state.pid;
  pid_t number = (pid_t) ~(clock >> kClockTypeBits);
  if ((clock & kClockOfThread) != 0 && number == 0) return libc_call(SYS_gettid) == state.pid;
  return number == 0 || number == state.pid;
}

static int own_clock_gettime(clockid_t clock, struct timespec *time) {
  long result = libc_call(SYS_clock_gettime, clock, time);
  const struct usage *begin = begin_of_request();
  if (result != 0 || begin == NULL || !is_of_own_processor_time(clock))
    return (int)call_result(result);
  int64_t now = (int64_t)time->tv_sec * 1000 * kMicroseconds + time->tv_nsec;
  now = since(now, (int64_t)usage_microseconds(&begin->own) * 1000,
              (int64_t)usage_microseconds(&state.processor.before.own) * 1000);
  *time = (struct timespec){now / (1000 * kMicroseconds), now % (1000 * kMicroseconds)};
  return 0;
}

static clock_t own_clock(void) {
  struct timespec time;
  own_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (clock_t)time.tv_sec * CLOCKS_PER_SEC +
         time.tv_nsec / (1000 * kMicroseconds / CLOCKS_PER_SEC);
}

long processor_time_by_number(long number, const long *words) {
  if (number == SYS_times) return own_times((struct tms *)words[0]);
  if (number == SYS_getrusage) return own_getrusage((int)words[0], (struct rusage *)words[1]);
  return own_clock_gettime((clockid_t)words[0], (struct timespec *)words[1]);
}

void *processor_clock_instead(clockid_t clock) {
  if (state.role != ROLE_ANSWERING || !is_of_own_processor_time(clock)) return NULL;
  return (void *)(uintptr_t)own_clock_gettime;
}

#define INSTEAD(look, own)                                               \
  void *look(const struct passed_call *call, const long *arguments) {    \
    load_watch_note_processor_time(call->name, caller_of(arguments));    \
    return state.role == ROLE_ANSWERING ? (void *)(uintptr_t)own : NULL; \
  }
INSTEAD(look_at_getrusage, own_getrusage)
INSTEAD(look_at_processor_time, own_clock)

void *look_at_times(const struct passed_call *call, const long *arguments) {
  if (state.role == ROLE_ANSWERING) return (void *)(uintptr_t)own_times;
  return look_at_time(call, arguments);
}

/* ---- its limit ---- */

/* Whole seconds that the process had used, rounded up: the kernel counts whole seconds. */
static rlim_t seconds_of(const struct usage *begin) {
  return (rlim_t)((usage_microseconds(&begin->own) + kMicroseconds - 1) / kMicroseconds);
}

static rlim_t seconds_before(void) {
  const struct usage *begin = begin_of_request();
  return begin == NULL ? 0 : seconds_of(begin);
}

static int is_own_limit(pid_t pid, int resource) {
  return resource == RLIMIT_CPU && (pid == 0 || pid == state.pid) && state.role == ROLE_ANSWERING;
}

static rlim_t later(rlim_t seconds, rlim_t by, rlim_t most) {
  if (seconds == RLIM_INFINITY || seconds > most || by > most - seconds) return most;
  return seconds + by;
}

static rlim_t earlier(rlim_t seconds, rlim_t by) {
  return seconds == RLIM_INFINITY || seconds < by ? seconds : seconds - by;
}

static int is_bad(const struct rlimit *limit) {
  return limit != NULL && !may_be_memory(limit);
}

long processor_limit(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old) {
  rlim_t before = is_own_limit(pid, resource) ? seconds_before() : 0;
  struct rlimit now, wanted;
  if (before == 0 || is_bad(limit) || is_bad(old))
    return libc_call(SYS_prlimit64, pid, resource, limit, old);
  long result = libc_call(SYS_prlimit64, pid, resource, NULL, &now);
  if (result != 0) return result;
  if (limit != NULL) {
    rlim_t most = limit->rlim_max == RLIM_INFINITY ? RLIM_INFINITY : now.rlim_max;
    wanted.rlim_max = later(limit->rlim_max, before, most);
    wanted.rlim_cur = later(limit->rlim_cur, before, wanted.rlim_max);
    if (limit->rlim_cur > limit->rlim_max) wanted = *limit; /* which the kernel refuses */
    result = libc_call(SYS_prlimit64, pid, resource, &wanted, NULL);
    if (result != 0) return result;
  }
  if (old != NULL) {
    /* The hard limit is the operator's until the program lowers it. */
    rlim_t hard = state.processor.lowers_limit ? earlier(now.rlim_max, before) : now.rlim_max;
    *old = (struct rlimit){earlier(now.rlim_cur, before), hard};
  }
  if (limit != NULL) state.processor.lowers_limit |= wanted.rlim_max < now.rlim_max;
  return 0;
}

/* A child begins at zero, and is forked with our limit. */
void processor_limit_of_child(void) {
  if (state.role != ROLE_ANSWERING) return;
  struct rlimit limit;
  if (raw_call(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return;
  rlim_t before = seconds_of(usage_at_start());
  limit.rlim_cur = earlier(limit.rlim_cur, before);
  if (state.processor.lowers_limit) limit.rlim_max = earlier(limit.rlim_max, before);
  raw_call(SYS_prlimit64, 0, RLIMIT_CPU, &limit, NULL);
}
