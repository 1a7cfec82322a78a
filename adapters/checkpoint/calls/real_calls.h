/* Functions of libc that are interposed here, as libc has them. All are found before the
 * checkpoint: a search in a request would be repeated in each, because what it finds is put back.
 */
#ifndef CGIBRIDGE_REAL_CALLS_H
#define CGIBRIDGE_REAL_CALLS_H

#define REAL_CALLS(X)   \
  X(_Fork)              \
  X(epoll_pwait)        \
  X(epoll_wait)         \
  X(execvpe)            \
  X(fork)               \
  X(freelocale)         \
  X(malloc_trim)        \
  X(pthread_create)     \
  X(pthread_getattr_np) \
  X(pthread_sigmask)    \
  X(readlink)           \
  X(readlinkat)         \
  X(sigaction)          \
  X(siginterrupt)       \
  X(signal)             \
  X(sigprocmask)        \
  X(sigset) X(syscall) X(sysv_signal) X(timer_create) X(timer_delete)

#define REAL_CALL_NUMBER(function) REAL_CALL_##function,
enum real_call { REAL_CALLS(REAL_CALL_NUMBER) kRealCalls };

/* NULL if libc has none. */
void *real_call(enum real_call call);
void real_calls_find(void);

/* REAL(fork)() calls libc's. */
#define REAL(function) ((__typeof__(&function))real_call(REAL_CALL_##function))

#endif
