/* Functions that wake a thread, name one, or write to what one may wait for, in the form of
 * passed_calls.h: threads of the checkpoint that are missing are made before them
 * (rewind/threads_missing.h). Others that can are watched for other reasons as well. */
#ifndef CGIBRIDGE_WAKING_LIST_H
#define CGIBRIDGE_WAKING_LIST_H

#define CALLS_THAT_WAKE(X)                                       \
  X(pthread_cond_signal, 0, RETIRED_NOT, look_at_condition)      \
  X(pthread_cond_broadcast, 0, RETIRED_NOT, look_at_condition)   \
  X(cnd_signal, 0, RETIRED_NOT, look_at_condition)               \
  X(cnd_broadcast, 0, RETIRED_NOT, look_at_condition)            \
  X(sem_post, 0, RETIRED_NOT, look_at_semaphore)                 \
  X(pthread_rwlock_rdlock, 0, RETIRED_NOT, look_at_rwlock)       \
  X(pthread_rwlock_wrlock, 0, RETIRED_NOT, look_at_rwlock)       \
  X(pthread_rwlock_tryrdlock, 0, RETIRED_NOT, look_at_rwlock)    \
  X(pthread_rwlock_trywrlock, 0, RETIRED_NOT, look_at_rwlock)    \
  X(pthread_rwlock_unlock, 0, RETIRED_NOT, look_at_rwlock)       \
  X(pthread_rwlock_timedrdlock, 0, RETIRED_NOT, look_at_rwlock)  \
  X(pthread_rwlock_timedwrlock, 0, RETIRED_NOT, look_at_rwlock)  \
  X(pthread_rwlock_clockrdlock, 0, RETIRED_NOT, look_at_rwlock)  \
  X(pthread_rwlock_clockwrlock, 0, RETIRED_NOT, look_at_rwlock)  \
  X(__pthread_rwlock_rdlock, 0, RETIRED_NOT, look_at_rwlock)     \
  X(__pthread_rwlock_wrlock, 0, RETIRED_NOT, look_at_rwlock)     \
  X(__pthread_rwlock_tryrdlock, 0, RETIRED_NOT, look_at_rwlock)  \
  X(__pthread_rwlock_trywrlock, 0, RETIRED_NOT, look_at_rwlock)  \
  X(__pthread_rwlock_unlock, 0, RETIRED_NOT, look_at_rwlock)     \
  X(pthread_join, 0, RETIRED_NOT, look_at_thread)                \
  X(pthread_tryjoin_np, 0, RETIRED_NOT, look_at_thread)          \
  X(pthread_timedjoin_np, 0, RETIRED_NOT, look_at_thread)        \
  X(pthread_clockjoin_np, 0, RETIRED_NOT, look_at_thread)        \
  X(pthread_detach, 0, RETIRED_NOT, look_at_thread)              \
  X(pthread_cancel, 0, RETIRED_NOT, look_at_thread)              \
  X(pthread_kill, 0, RETIRED_NOT, look_at_sent_to_thread)        \
  X(pthread_sigqueue, 0, RETIRED_NOT, look_at_sent_to_thread)    \
  X(pthread_getname_np, 0, RETIRED_NOT, look_at_thread)          \
  X(pthread_getaffinity_np, 0, RETIRED_NOT, look_at_thread)      \
  X(pthread_getschedparam, 0, RETIRED_NOT, look_at_thread)       \
  X(pthread_getcpuclockid, 0, RETIRED_NOT, look_at_thread_clock) \
  X(thrd_join, 0, RETIRED_NOT, look_at_thread)                   \
  X(thrd_detach, 0, RETIRED_NOT, look_at_thread)                 \
  X(pthread_exit, 0, RETIRED_NOT, look_at_threads)               \
  X(thrd_exit, 0, RETIRED_NOT, look_at_threads)                  \
  X(tgkill, 0, RETIRED_NOT, look_at_sent_to_thread)              \
  X(eventfd_write, 0, RETIRED_NOT, look_at_awaited)              \
  X(dup, 0, RETIRED_NOT, look_at_awaited)                        \
  X(dprintf, 0, RETIRED_NOT, look_at_awaited)                    \
  X(vdprintf, 0, RETIRED_NOT, look_at_awaited)                   \
  X(__dprintf_chk, 0, RETIRED_NOT, look_at_awaited)              \
  X(__vdprintf_chk, 0, RETIRED_NOT, look_at_awaited)

#endif
