/* What a load is watched for. */
#ifndef CGIBRIDGE_LOAD_CALLS_H
#define CGIBRIDGE_LOAD_CALLS_H

#include "load/answers.h"

/* The watched functions, in the form of passed_calls.h. (std::random_device is here because it asks
 * the processor, which cannot be watched. The last ones change nothing: the bridge only learns what
 * was looked at.) */
#define CALLS_OF_A_LOAD(X)                                                    \
  X(time, 0, RETIRED_NOT, look_at_time)                                       \
  X(gettimeofday, 0, RETIRED_NOT, look_at_time)                               \
  X(clock_gettime, 0, RETIRED_NOT, look_at_clock)                             \
  X(timespec_get, 0, RETIRED_NOT, look_at_time)                               \
  X(ftime, 0, RETIRED_NOT, look_at_time)                                      \
  X(times, 0, RETIRED_NOT, look_at_times)                                     \
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
  X(getpgrp, 0, RETIRED_NOT, look_at_pid)                                     \
  X(getpgid, 0, RETIRED_NOT, look_at_pid)                                     \
  X(__getpgid, 0, RETIRED_NOT, look_at_pid)                                   \
  X(getsid, 0, RETIRED_NOT, look_at_pid)                                      \
  X(srand, 0, RETIRED_NOT, look_at_seed)                                      \
  X(srandom, 0, RETIRED_NOT, look_at_seed)                                    \
  X(srand48, 0, RETIRED_NOT, look_at_seed)                                    \
  X(seed48, 0, RETIRED_NOT, look_at_seed)                                     \
  X(lcong48, 0, RETIRED_NOT, look_at_seed)                                    \
  X(initstate, 0, RETIRED_NOT, look_at_seed)                                  \
  X(__read, 0, RETIRED_NOT, look_at_input)                                    \
  X(__read_chk, 0, RETIRED_NOT, look_at_input)                                \
  X(readv, 0, RETIRED_NOT, look_at_input)                                     \
  X(write, 0, RETIRED_NOT, look_at_output)                                    \
  X(__write, 0, RETIRED_NOT, look_at_output)                                  \
  X(writev, 0, RETIRED_NOT, look_at_output)                                   \
  X(__fork, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                       \
  X(vfork, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                        \
  X(__vfork, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                      \
  X(posix_spawn, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                  \
  X(posix_spawnp, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                 \
  X(system, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                       \
  X(popen, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                        \
  X(daemon, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                       \
  X(forkpty, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                      \
  X(wordexp, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)                      \
  X(connect, 0, RETIRED_NOT, look_at_connection)                              \
  X(__connect, 0, RETIRED_NOT, look_at_connection)                            \
  X(bind, 0, RETIRED_NOT, look_at_connection)                                 \
  X(unlink, 0, RETIRED_NOT, look_at_change)                                   \
  X(unlinkat, 0, RETIRED_NOT, look_at_change)                                 \
  X(remove, 0, RETIRED_NOT, look_at_change)                                   \
  X(rename, 0, RETIRED_NOT, look_at_maker)                                    \
  X(renameat, 0, RETIRED_NOT, look_at_maker)                                  \
  X(mkdir, 0, RETIRED_NOT, look_at_maker)                                     \
  X(mkdirat, 0, RETIRED_NOT, look_at_maker)                                   \
  X(rmdir, 0, RETIRED_NOT, look_at_change)                                    \
  X(link, 0, RETIRED_NOT, look_at_link)                                       \
  X(symlink, 0, RETIRED_NOT, look_at_link)                                    \
  X(truncate, 0, RETIRED_NOT, look_at_change)                                 \
  X(mkstemp, 0, RETIRED_NOT, look_at_change)                                  \
  X(mkstemp64, 0, RETIRED_NOT, look_at_change)                                \
  X(mkdtemp, 0, RETIRED_NOT, look_at_change)                                  \
  X(tmpfile, 0, RETIRED_NOT, look_at_change)                                  \
  X(tmpfile64, 0, RETIRED_NOT, look_at_change)                                \
  X(flock, 0, RETIRED_NOT, look_at_lock)                                      \
  X(lockf, 0, RETIRED_NOT, look_at_lockf)                                     \
  X(lockf64, 0, RETIRED_NOT, look_at_lockf)                                   \
  X(chmod, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                      \
  X(fchmod, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                     \
  X(fchmodat, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                   \
  X(chown, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                      \
  X(fchown, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                     \
  X(lchown, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                     \
  X(fchownat, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                   \
  X(utime, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                      \
  X(utimes, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                     \
  X(utimensat, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                  \
  X(futimens, TOUCHED_STREAMS, RETIRED_NOT, look_at_change)                   \
  X(linkat, 0, RETIRED_NOT, look_at_maker)                                    \
  X(symlinkat, 0, RETIRED_NOT, look_at_maker)                                 \
  X(renameat2, 0, RETIRED_NOT, look_at_maker)                                 \
  X(truncate64, 0, RETIRED_NOT, look_at_change)                               \
  X(mknod, 0, RETIRED_NOT, look_at_maker)                                     \
  X(mkfifo, 0, RETIRED_NOT, look_at_maker)                                    \
  X(mkostemp, 0, RETIRED_NOT, look_at_change)                                 \
  X(mkostemp64, 0, RETIRED_NOT, look_at_change)                               \
  X(mkstemps, 0, RETIRED_NOT, look_at_change)                                 \
  X(fcntl, 0, RETIRED_NOT, look_at_fcntl)                                     \
  X(fcntl64, 0, RETIRED_NOT, look_at_fcntl)                                   \
  X(sendto, 0, RETIRED_NOT, look_at_connection)                               \
  X(vsyslog, 0, RETIRED_NOT, look_at_connection)                              \
  X(__syslog_chk, 0, RETIRED_NOT, look_at_connection)                         \
  X(syslog, 0, RETIRED_NOT, look_at_connection)                               \
  X(adjtimex, 0, RETIRED_NOT, look_at_time)                                   \
  X(__adjtimex, 0, RETIRED_NOT, look_at_time)                                 \
  X(clock_adjtime, 0, RETIRED_NOT, look_at_time)                              \
  X(ntp_adjtime, 0, RETIRED_NOT, look_at_time)                                \
  X(ntp_gettime, 0, RETIRED_NOT, look_at_time)                                \
  X(ntp_gettimex, 0, RETIRED_NOT, look_at_time)                               \
  X(getloadavg, 0, RETIRED_NOT, look_at_time)                                 \
  X(sysinfo, 0, RETIRED_NOT, look_at_machine)                                 \
  X(mktemp, 0, RETIRED_NOT, look_at_random)                                   \
  X(tempnam, 0, RETIRED_NOT, look_at_random)                                  \
  X(tmpnam, 0, RETIRED_NOT, look_at_random)                                   \
  X(tmpnam_r, 0, RETIRED_NOT, look_at_random)                                 \
  X(mkstemps64, 0, RETIRED_NOT, look_at_change)                               \
  X(mkostemps, 0, RETIRED_NOT, look_at_change)                                \
  X(mkostemps64, 0, RETIRED_NOT, look_at_change)                              \
  X(mkfifoat, 0, RETIRED_NOT, look_at_maker)                                  \
  X(mknodat, 0, RETIRED_NOT, look_at_maker)                                   \
  X(shm_open, 0, RETIRED_NOT, look_at_shared_file)                            \
  X(faccessat, 0, RETIRED_NOT, look_at_path_in)                               \
  X(euidaccess, 0, RETIRED_NOT, look_at_path)                                 \
  X(eaccess, 0, RETIRED_NOT, look_at_path)                                    \
  X(shmget, 0, RETIRED_NOT, look_at_change)                                   \
  X(semget, 0, RETIRED_NOT, look_at_change)                                   \
  X(msgget, 0, RETIRED_NOT, look_at_change)                                   \
  X(shmctl, 0, RETIRED_NOT, look_at_change)                                   \
  X(semctl, 0, RETIRED_NOT, look_at_change)                                   \
  X(msgctl, 0, RETIRED_NOT, look_at_change)                                   \
  X(sem_open, 0, RETIRED_NOT, look_at_change)                                 \
  X(sem_unlink, 0, RETIRED_NOT, look_at_change)                               \
  X(shm_unlink, 0, RETIRED_NOT, look_at_change)                               \
  X(mq_open, 0, RETIRED_NOT, look_at_change)                                  \
  X(__mq_open_2, 0, RETIRED_NOT, look_at_change)                              \
  X(mq_unlink, 0, RETIRED_NOT, look_at_change)                                \
  X(lchmod, 0, RETIRED_NOT, look_at_change)                                   \
  CALLS_WITH_ANSWERS(X)

/* Elsewhere a library may call it before this one has been relocated. */
#define CALLS_OF_A_LOAD_BY_MACHINE(X) X(getauxval, 0, RETIRED_NOT, look_at_auxiliary)

#endif
