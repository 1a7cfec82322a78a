/* Which functions of libc are noted and passed on (passed_calls.h). */
#ifndef CGIBRIDGE_PASSED_LIST_H
#define CGIBRIDGE_PASSED_LIST_H

#include <features.h>

#include "calls/remembered_list.h"
#include "calls/stream_list.h"
#include "calls/waiting_list.h"
#include "calls/waking_list.h"
#include "load/generators.h"
#include "load/load_calls.h"

#if defined(__x86_64__)
#define PASSED_CALLS_OF_THE_MACHINE(X)              \
  CALLS_OF_A_LOAD_BY_MACHINE(X)                     \
  X(iopl, 0, RETIRED_CALL, NULL)                    \
  X(ioperm, 0, RETIRED_CALL, NULL)                  \
  X(modify_ldt, 0, RETIRED_CALL, NULL)              \
  X(arch_prctl, 0, RETIRED_NOT, look_at_arch_prctl) \
  X(__arch_prctl, 0, RETIRED_NOT, look_at_arch_prctl)
#else
#define PASSED_CALLS_OF_THE_MACHINE(X)
#endif

/* What the libc that this library was built with has; a program may ask whether an older one has
 * it. */
#if __GLIBC_PREREQ(2, 39)
#define PASSED_CALLS_OF_2_39(X)                              \
  X(pidfd_spawn, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child) \
  X(pidfd_spawnp, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)
#else
#define PASSED_CALLS_OF_2_39(X)
#endif
#if __GLIBC_PREREQ(2, 41)
#define PASSED_CALLS_OF_2_41(X) X(sched_setattr, TOUCHED_ASKED, RETIRED_NOT, NULL)
#else
#define PASSED_CALLS_OF_2_41(X)
#endif
#if __GLIBC_PREREQ(2, 43)
#define PASSED_CALLS_OF_LATE(X)   \
  X(mseal, 0, RETIRED_CALL, NULL) \
  X(openat2, 0, RETIRED_NOT, look_at_openat2)
#else
#define PASSED_CALLS_OF_LATE(X)
#endif

/* name, what it may change, why it cannot be undone, what its arguments mean. A change of users
 * also clears what the kernel keeps for the parent's death and for dumps, and changing back does
 * not restore that. */
#define PASSED_CALLS(X)                                                 \
  X(ulimit, TOUCHED_LIMITS, RETIRED_NOT, NULL)                          \
  X(vlimit, TOUCHED_LIMITS, RETIRED_NOT, NULL)                          \
  X(pthread_setaffinity_np, TOUCHED_SCHEDULE, RETIRED_NOT, NULL)        \
  X(setuid, TOUCHED_PRCTL, RETIRED_NOT, NULL)                           \
  X(seteuid, TOUCHED_PRCTL, RETIRED_NOT, NULL)                          \
  X(setreuid, TOUCHED_PRCTL, RETIRED_NOT, NULL)                         \
  X(setresuid, TOUCHED_PRCTL, RETIRED_NOT, NULL)                        \
  X(setgid, TOUCHED_PRCTL, RETIRED_NOT, NULL)                           \
  X(setegid, TOUCHED_PRCTL, RETIRED_NOT, NULL)                          \
  X(setregid, TOUCHED_PRCTL, RETIRED_NOT, NULL)                         \
  X(setresgid, TOUCHED_PRCTL, RETIRED_NOT, NULL)                        \
  X(capset, TOUCHED_PRCTL, RETIRED_NOT, NULL)                           \
  X(tcsetpgrp, 0, RETIRED_CALL, NULL)                                   \
  X(clone, 0, RETIRED_NOT, look_at_clone)                               \
  X(__clone, 0, RETIRED_NOT, look_at_clone)                             \
  X(setfsuid, 0, RETIRED_IDENTITY, NULL)                                \
  X(setfsgid, 0, RETIRED_IDENTITY, NULL)                                \
  X(pivot_root, 0, RETIRED_IDENTITY, NULL)                              \
  X(vmsplice, 0, RETIRED_CALL, NULL) /* others read what is put back */ \
  X(getrusage, 0, RETIRED_NOT, look_at_getrusage)                       \
  X(clock, 0, RETIRED_NOT, look_at_processor_time)                      \
  X(setsockopt, 0, RETIRED_NOT, look_at_socket)                         \
  X(pkey_alloc, 0, RETIRED_CALL, NULL)                                  \
  X(pkey_free, 0, RETIRED_NOT, look_at_key)                             \
  X(pkey_mprotect, 0, RETIRED_NOT, look_at_mprotect)                    \
  X(posix_madvise, 0, RETIRED_NOT, look_at_madvise)                     \
  X(process_vm_writev, kTouchedAllPages, RETIRED_NOT, NULL)             \
  X(process_madvise, 0, RETIRED_NOT, look_at_process_madvise)           \
  X(thrd_create, TOUCHED_THREADS, RETIRED_NOT, look_at_thrd_create)     \
  X(getaddrinfo_a, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread) \
  X(mq_notify, TOUCHED_THREADS, RETIRED_CALL, look_at_unseen_thread)    \
  X(aio_read, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread)      \
  X(aio_read64, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread)    \
  X(aio_write, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread)     \
  X(aio_write64, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread)   \
  X(aio_fsync, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread)     \
  X(aio_fsync64, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread)   \
  X(lio_listio, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread)    \
  X(lio_listio64, TOUCHED_THREADS, RETIRED_NOT, look_at_unseen_thread)  \
  X(__sigaction, 0, RETIRED_NOT, look_at_sigaction)                     \
  X(bsd_signal, 0, RETIRED_NOT, look_at_signal)                         \
  X(ssignal, 0, RETIRED_NOT, look_at_signal)                            \
  X(sigvec, 0, RETIRED_NOT, look_at_sigaction)                          \
  X(sigignore, 0, RETIRED_NOT, look_at_signal)                          \
  X(dlsym, 0, RETIRED_NOT, look_at_dlsym)                               \
  X(dlopen, TOUCHED_MAPPINGS, RETIRED_NOT, look_at_dlopen)              \
  X(dlmopen, TOUCHED_MAPPINGS, RETIRED_NOT, look_at_dlmopen)            \
  X(__open, 0, RETIRED_NOT, look_at_open)                               \
  X(__open64, 0, RETIRED_NOT, look_at_open)                             \
  X(__open_2, 0, RETIRED_NOT, look_at_open)                             \
  X(__open64_2, 0, RETIRED_NOT, look_at_open)                           \
  X(openat, 0, RETIRED_NOT, look_at_openat)                             \
  X(openat64, 0, RETIRED_NOT, look_at_openat)                           \
  X(__openat_2, 0, RETIRED_NOT, look_at_openat)                         \
  X(__openat64_2, 0, RETIRED_NOT, look_at_openat)                       \
  X(open_by_handle_at, 0, RETIRED_NOT, look_at_handle)                  \
  X(creat, 0, RETIRED_NOT, look_at_creat)                               \
  X(creat64, 0, RETIRED_NOT, look_at_creat)                             \
  X(fopen, 0, RETIRED_NOT, look_at_fopen)                               \
  X(fopen64, 0, RETIRED_NOT, look_at_fopen)                             \
  X(_IO_fopen, 0, RETIRED_NOT, look_at_fopen)                           \
  X(freopen, 0, RETIRED_NOT, look_at_freopen)                           \
  X(freopen64, 0, RETIRED_NOT, look_at_freopen)                         \
  CALLS_THAT_ARE_REMEMBERED(X)                                          \
  CALLS_ON_STREAMS(X)                                                   \
  CALLS_THAT_WAIT(X)                                                    \
  CALLS_THAT_WAKE(X)                                                    \
  CALLS_OF_A_LOAD(X)                                                    \
  CALLS_OF_GENERATORS(X)                                                \
  PASSED_CALLS_OF_THE_MACHINE(X)                                        \
  PASSED_CALLS_OF_2_39(X) PASSED_CALLS_OF_2_41(X) PASSED_CALLS_OF_LATE(X)

#endif
