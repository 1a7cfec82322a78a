/* What a program does on its way to the checkpoint is done once for all its visitors: a key that is
 * drawn there is everybody's, a time is as old as the zygote, what is printed is lost. So it is
 * watched, and only what is pure stands before the checkpoint. */
#ifndef CGIBRIDGE_LOAD_WATCH_H
#define CGIBRIDGE_LOAD_WATCH_H

#include <stddef.h>
#include <sys/stat.h>

enum impurity {
  IMPURE_RANDOM,
  IMPURE_TIME,
  IMPURE_PID,
  IMPURE_INPUT,
  IMPURE_OUTPUT,
  IMPURE_CHILDREN,
  IMPURE_SOCKETS,
  IMPURE_FILES,
  IMPURITIES
};

enum { kFoundMax = 240 };

struct load_watch {
  int is_on;
  unsigned accepted;     /* a bit for each impurity that the operator allows */
  char found[kFoundMax]; /* the first that was found, in words; or empty */
  int output;            /* what standard output is, while it is caught; else 0 */
  ino_t caught;          /* the file that it was caught in; else 0 */
};

/* "time,random": what the operator allows; words that are not known are passed over. */
void load_watch_accept(const char *list, size_t bytes);
/* From here on, and of what comes. */
void load_watch_begin(void);
/* From here on standard output is a file, so that it shows what is printed; until the end. */
void load_watch_catch_output(void);
void load_watch_end(void);
/* The program did it, by this function, called from there. Nothing outside of a watched zygote. */
void load_watch_note(enum impurity kind, const char *function, const void *caller);
/* What was found, or "". Looks at what was printed, too. */
const char *load_watch_found(void);
/* Whether a descriptor is a copy of standard output, made while that was caught. */
int load_watch_is_output(const struct stat *status);
/* Whether a file of that name gives random numbers. */
int load_watch_is_random(const char *path);

/* The functions by which it is done, as passed_calls.h has them. (std::random_device, since it asks
 * the processor, whom nobody can watch.) */
#define CALLS_OF_A_LOAD(X)                                                    \
  X(time, 0, RETIRED_NOT, look_at_time)                                       \
  X(gettimeofday, 0, RETIRED_NOT, look_at_time)                               \
  X(clock_gettime, 0, RETIRED_NOT, look_at_clock)                             \
  X(timespec_get, 0, RETIRED_NOT, look_at_time)                               \
  X(ftime, 0, RETIRED_NOT, look_at_time)                                      \
  X(times, 0, RETIRED_NOT, look_at_time)                                      \
  X(getrandom, 0, RETIRED_NOT, look_at_random)                                \
  X(getentropy, 0, RETIRED_NOT, look_at_random)                               \
  X(arc4random, 0, RETIRED_NOT, look_at_random)                               \
  X(arc4random_buf, 0, RETIRED_NOT, look_at_random)                           \
  X(arc4random_uniform, 0, RETIRED_NOT, look_at_random)                       \
  X(_ZNSt13random_device9_M_getvalEv, 0, RETIRED_NOT, look_at_random)         \
  X(_ZNSt13random_device16_M_getval_pretr1Ev, 0, RETIRED_NOT, look_at_random) \
  X(getpid, 0, RETIRED_NOT, look_at_pid)                                      \
  X(__getpid, 0, RETIRED_NOT, look_at_pid)                                    \
  X(gettid, 0, RETIRED_NOT, look_at_pid)                                      \
  X(__read, 0, RETIRED_NOT, look_at_input)                                    \
  X(__read_chk, 0, RETIRED_NOT, look_at_input)                                \
  X(readv, 0, RETIRED_NOT, look_at_input)                                     \
  X(write, 0, RETIRED_NOT, look_at_output)                                    \
  X(__write, 0, RETIRED_NOT, look_at_output)                                  \
  X(writev, 0, RETIRED_NOT, look_at_output)                                   \
  X(_Fork, 0, RETIRED_NOT, look_at_child)                                     \
  X(__fork, 0, RETIRED_NOT, look_at_child)                                    \
  X(vfork, 0, RETIRED_NOT, look_at_child)                                     \
  X(__vfork, 0, RETIRED_NOT, look_at_child)                                   \
  X(posix_spawn, 0, RETIRED_NOT, look_at_child)                               \
  X(posix_spawnp, 0, RETIRED_NOT, look_at_child)                              \
  X(system, 0, RETIRED_NOT, look_at_child)                                    \
  X(popen, 0, RETIRED_NOT, look_at_child)                                     \
  X(daemon, 0, RETIRED_NOT, look_at_child)                                    \
  X(forkpty, 0, RETIRED_NOT, look_at_child)                                   \
  X(wordexp, 0, RETIRED_NOT, look_at_child)                                   \
  X(connect, 0, RETIRED_NOT, look_at_connection)                              \
  X(__connect, 0, RETIRED_NOT, look_at_connection)                            \
  X(bind, 0, RETIRED_NOT, look_at_connection)                                 \
  X(unlink, 0, RETIRED_NOT, look_at_change)                                   \
  X(unlinkat, 0, RETIRED_NOT, look_at_change)                                 \
  X(remove, 0, RETIRED_NOT, look_at_change)                                   \
  X(rename, 0, RETIRED_NOT, look_at_change)                                   \
  X(renameat, 0, RETIRED_NOT, look_at_change)                                 \
  X(mkdir, 0, RETIRED_NOT, look_at_change)                                    \
  X(mkdirat, 0, RETIRED_NOT, look_at_change)                                  \
  X(rmdir, 0, RETIRED_NOT, look_at_change)                                    \
  X(link, 0, RETIRED_NOT, look_at_change)                                     \
  X(symlink, 0, RETIRED_NOT, look_at_change)                                  \
  X(truncate, 0, RETIRED_NOT, look_at_change)                                 \
  X(mkstemp, 0, RETIRED_NOT, look_at_change)                                  \
  X(mkstemp64, 0, RETIRED_NOT, look_at_change)                                \
  X(mkdtemp, 0, RETIRED_NOT, look_at_change)                                  \
  X(tmpfile, 0, RETIRED_NOT, look_at_change)                                  \
  X(tmpfile64, 0, RETIRED_NOT, look_at_change)

#endif
