/* Functions whose effect the kernel keeps for the process, in the form of passed_calls.h: a
 * request that calls one is not clean (clean.h); those on descriptors count only if the descriptor
 * is one of the library's own. */
#ifndef CGIBRIDGE_REMEMBERED_LIST_H
#define CGIBRIDGE_REMEMBERED_LIST_H

#define CALLS_THAT_ARE_REMEMBERED(X)                                    \
  X(initgroups, TOUCHED_ASKED, RETIRED_NOT, NULL)                       \
  X(iruserok, TOUCHED_ASKED, RETIRED_NOT, NULL)                         \
  X(iruserok_af, TOUCHED_ASKED, RETIRED_NOT, NULL)                      \
  X(ruserok, TOUCHED_ASKED, RETIRED_NOT, NULL)                          \
  X(ruserok_af, TOUCHED_ASKED, RETIRED_NOT, NULL)                       \
  X(setgroups, TOUCHED_ASKED, RETIRED_NOT, NULL)                        \
  X(__setpgid, TOUCHED_ASKED, RETIRED_NOT, NULL)                        \
  X(login_tty, TOUCHED_ASKED, RETIRED_NOT, NULL)                        \
  X(pthread_setname_np, TOUCHED_ASKED, RETIRED_NOT, NULL)               \
  X(setpgid, TOUCHED_ASKED, RETIRED_NOT, NULL)                          \
  X(setpgrp, TOUCHED_ASKED, RETIRED_NOT, NULL)                          \
  X(setsid, TOUCHED_ASKED, RETIRED_NOT, NULL)                           \
  X(__sched_setscheduler, TOUCHED_ASKED, RETIRED_NOT, look_at_schedule) \
  X(nice, TOUCHED_ASKED, RETIRED_NOT, NULL)                             \
  X(pthread_setschedparam, TOUCHED_ASKED, RETIRED_NOT, NULL)            \
  X(pthread_setschedprio, TOUCHED_ASKED, RETIRED_NOT, NULL)             \
  X(sched_setparam, TOUCHED_ASKED, RETIRED_NOT, look_at_schedule)       \
  X(sched_setscheduler, TOUCHED_ASKED, RETIRED_NOT, look_at_schedule)   \
  X(setpriority, TOUCHED_ASKED, RETIRED_NOT, look_at_priority)          \
  X(_IO_popen, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)              \
  X(_IO_proc_open, TOUCHED_SIGSYS, RETIRED_NOT, look_at_child)          \
  X(closefrom, TOUCHED_ASKED, RETIRED_NOT, look_at_range)               \
  X(close_range, TOUCHED_ASKED, RETIRED_NOT, look_at_range)             \
  X(__monstartup, TOUCHED_ASKED, RETIRED_NOT, NULL)                     \
  X(_mcleanup, TOUCHED_ASKED, RETIRED_NOT, NULL)                        \
  X(alarm, TOUCHED_ASKED, RETIRED_NOT, NULL)                            \
  X(moncontrol, TOUCHED_ASKED, RETIRED_NOT, NULL)                       \
  X(monstartup, TOUCHED_ASKED, RETIRED_NOT, NULL)                       \
  X(profil, TOUCHED_ASKED, RETIRED_NOT, NULL)                           \
  X(setitimer, TOUCHED_ASKED, RETIRED_NOT, NULL)                        \
  X(sprofil, TOUCHED_ASKED, RETIRED_NOT, NULL)                          \
  X(ualarm, TOUCHED_ASKED, RETIRED_NOT, NULL)                           \
  X(setcontext, TOUCHED_SIGSYS, RETIRED_NOT, NULL)                      \
  X(sigaltstack, TOUCHED_ASKED, RETIRED_NOT, NULL)                      \
  X(sigblock, TOUCHED_SIGSYS, RETIRED_NOT, NULL)                        \
  X(sighold, TOUCHED_SIGSYS, RETIRED_NOT, NULL)                         \
  X(sigrelse, TOUCHED_SIGSYS, RETIRED_NOT, NULL)                        \
  X(sigsetmask, TOUCHED_SIGSYS, RETIRED_NOT, NULL)                      \
  X(sigstack, TOUCHED_SIGSYS, RETIRED_NOT, NULL)                        \
  X(swapcontext, TOUCHED_SIGSYS, RETIRED_NOT, NULL)                     \
  X(sigpause, TOUCHED_SIGSYS, RETIRED_NOT, look_at_wait)                \
  X(__sigpause, TOUCHED_SIGSYS, RETIRED_NOT, look_at_wait)              \
  X(__xpg_sigpause, TOUCHED_SIGSYS, RETIRED_NOT, look_at_wait)          \
  X(epoll_pwait2, TOUCHED_SIGSYS, RETIRED_NOT, look_at_wait)            \
  X(umask, TOUCHED_ASKED, RETIRED_NOT, NULL)                            \
  X(close, 0, RETIRED_NOT, look_at_close)                               \
  X(__close, 0, RETIRED_NOT, look_at_close)                             \
  X(fdopen, 0, RETIRED_NOT, look_at_fdopen)                             \
  X(_IO_fdopen, 0, RETIRED_NOT, look_at_fdopen)                         \
  X(fdopendir, 0, RETIRED_NOT, look_at_opened_folder)                   \
  X(dup2, 0, RETIRED_NOT, look_at_descriptors)                          \
  X(__dup2, 0, RETIRED_NOT, look_at_descriptors)                        \
  X(dup3, 0, RETIRED_NOT, look_at_descriptors)                          \
  X(dlvsym, TOUCHED_ASKED, RETIRED_NOT, look_at_dlvsym)

#endif
