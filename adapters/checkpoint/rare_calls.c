/* Calls that few programs make and whose effect the kernel does not show cheaply. They are passed
 * on, and noted: `touched` has the reset put back what they may have changed; a `doubt` retires the
 * worker. What a program does by the machine's own system call instruction is found by
 * verify_worker(). */
#include <dlfcn.h>
#include <errno.h>
#include <linux/types.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "raw_call.h"

static long back(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

static void touch(unsigned what) {
  state.touched |= what;
}

void call_doubt(enum retirement kind, const char *call) {
  if (state.doubt != RETIRED_NOT) return;
  state.doubt = kind;
  strncpy(state.doubtful_call, call, sizeof state.doubtful_call - 1);
}

/* ---- limits, schedule, attributes ---- */

INTERPOSED int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
  touch(TOUCHED_LIMITS);
  return (int)back(raw_call(SYS_prlimit64, 0, resource, limit, NULL));
}

INTERPOSED int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
  touch(TOUCHED_LIMITS);
  return (int)back(raw_call(SYS_prlimit64, 0, resource, limit, NULL));
}

INTERPOSED int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
                         struct rlimit64 *old) {
  touch(TOUCHED_LIMITS);
  return (int)back(raw_call(SYS_prlimit64, pid, resource, limit, old));
}

INTERPOSED int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
                       struct rlimit *old) {
  touch(TOUCHED_LIMITS);
  return (int)back(raw_call(SYS_prlimit64, pid, resource, limit, old));
}

INTERPOSED int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set) {
  touch(TOUCHED_SCHEDULE);
  return (int)back(raw_call(SYS_sched_setaffinity, pid, bytes, set));
}

INTERPOSED int personality(unsigned long persona) {
  touch(TOUCHED_SCHEDULE);
  return (int)back(raw_call(SYS_personality, persona));
}

/* Attributes that are put back, or that are asked of the kernel each time; all others are told
 * apart by whether they only ask. */
static int is_put_back(long option) {
  return option == PR_SET_PDEATHSIG || option == PR_SET_NAME || option == PR_SET_DUMPABLE ||
         option == PR_SET_KEEPCAPS || option == PR_SET_TIMERSLACK || option == PR_SET_SECUREBITS ||
         option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS ||
         option == PR_SET_CHILD_SUBREAPER;
}

static int only_asks(long option, long what) {
  static const int kQuestions[] = {
      PR_GET_PDEATHSIG,    PR_GET_DUMPABLE,    PR_GET_UNALIGN,          PR_GET_KEEPCAPS,
      PR_GET_FPEMU,        PR_GET_FPEXC,       PR_GET_TIMING,           PR_GET_NAME,
      PR_GET_ENDIAN,       PR_GET_SECCOMP,     PR_CAPBSET_READ,         PR_GET_TSC,
      PR_GET_SECUREBITS,   PR_GET_TIMERSLACK,  PR_MCE_KILL_GET,         PR_GET_CHILD_SUBREAPER,
      PR_GET_NO_NEW_PRIVS, PR_GET_THP_DISABLE, PR_GET_SPECULATION_CTRL, PR_GET_IO_FLUSHER,
      PR_GET_TID_ADDRESS};
  for (size_t i = 0; i < sizeof kQuestions / sizeof *kQuestions; ++i) {
    if (option == kQuestions[i]) return 1;
  }
  return option == PR_CAP_AMBIENT && what == PR_CAP_AMBIENT_IS_SET;
}

static void note_prctl(long option, long what) {
  if (only_asks(option, what)) return;
  touch(TOUCHED_PRCTL);
  if (is_put_back(option)) return;
  if (option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT) {
    call_doubt(RETIRED_IDENTITY, "prctl on capabilities");
  } else {
    call_doubt(RETIRED_CALL, "prctl");
  }
}

INTERPOSED int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long),
       d = va_arg(list, long);
  va_end(list);
  note_prctl(option, a);
  return (int)back(raw_call(SYS_prctl, option, a, b, c, d));
}

/* ---- memory ---- */

/* Whether [start, start + bytes) is part of what stood at the checkpoint; only what could be
 * written there is put back. */
static int stood(const void *start, size_t bytes, int only_constants) {
  const struct engine *engine = state.engine;
  uintptr_t from = (uintptr_t)start, to = from + bytes;
  if (engine == NULL || state.role != ROLE_ANSWERING) return 0;
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (mapping->end <= from || mapping->start >= to) continue;
    if (!only_constants || (mapping->prot & PROT_WRITE) == 0) return 1;
  }
  return 0;
}

/* Whether the advice is on pages' contents, which are compared, or one that a mapping keeps. */
static int is_on_pages(int advice) {
  return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_WILLNEED ||
         advice == MADV_COLD || advice == MADV_PAGEOUT || advice == MADV_NORMAL;
}

static void note_madvise(const void *start, size_t bytes, int advice) {
  touch(TOUCHED_PAGES);
  if (!is_on_pages(advice) && stood(start, bytes, 0)) call_doubt(RETIRED_MAPPINGS, "madvise");
}

INTERPOSED int madvise(void *start, size_t bytes, int advice) {
  note_madvise(start, bytes, advice);
  return (int)back(raw_call(SYS_madvise, start, bytes, advice));
}

static void note_mprotect(const void *start, size_t bytes, int prot) {
  touch(TOUCHED_MAPPINGS);
  if ((prot & PROT_WRITE) != 0 && stood(start, bytes, 1)) {
    call_doubt(RETIRED_MAPPINGS, "mprotect to write to constants");
  }
}

INTERPOSED int mprotect(void *start, size_t bytes, int prot) {
  note_mprotect(start, bytes, prot);
  return (int)back(raw_call(SYS_mprotect, start, bytes, prot));
}

INTERPOSED int malloc_trim(size_t pad) {
  static int (*real)(size_t);
  touch(TOUCHED_PAGES);
  if (real == NULL) real = (int (*)(size_t))dlsym(RTLD_NEXT, "malloc_trim");
  return real != NULL ? real(pad) : 0;
}

INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*run)(void *), void *argument) {
  static __typeof__(&pthread_create) real;
  touch(TOUCHED_THREADS);
  if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, run, argument);
}

INTERPOSED int mlock(const void *start, size_t bytes) {
  touch(TOUCHED_MEMORY_LOCKS);
  return (int)back(raw_call(SYS_mlock, start, bytes));
}

INTERPOSED int mlock2(const void *start, size_t bytes, unsigned flags) {
  touch(TOUCHED_MEMORY_LOCKS);
  return (int)back(raw_call(SYS_mlock2, start, bytes, flags));
}

INTERPOSED int mlockall(int flags) {
  touch(TOUCHED_MEMORY_LOCKS);
  return (int)back(raw_call(SYS_mlockall, flags));
}

/* ---- signals: their flags and masks, and real-time ones, are not in /proc/self/stat ---- */

static void touch_signal(long number) {
  if (number > 0 && number < kSignalsMax) state.touched_signals |= 1ull << (number - 1);
}

/* Perl asks for all of them at its end: 67 system calls. What nobody has set since the checkpoint
 * is known. */
static int is_known_action(int number, struct sigaction *old) {
  if (state.role != ROLE_ANSWERING || state.reset != RESET_REWIND || number < 1 ||
      number >= kSignalsMax || number == 32 || number == 33 ||
      (state.touched_signals >> (number - 1) & 1) != 0) {
    return 0;
  }
  const struct signal_action *action = &state.engine->kernel.actions[number];
  if ((action->flags & SA_RESETHAND) != 0) return 0;
  memset(old, 0, sizeof *old);
  old->sa_handler = action->handler;
  old->sa_flags = (int)action->flags;
  memcpy(&old->sa_mask, &action->mask, sizeof action->mask);
#if defined(__x86_64__)
  old->sa_restorer = action->restorer;
#endif
  return 1;
}

INTERPOSED int sigaction(int number, const struct sigaction *restrict action,
                         struct sigaction *restrict old) {
  static int (*real)(int, const struct sigaction *, struct sigaction *);
  if (action == NULL && old != NULL && is_known_action(number, old)) return 0;
  if (action != NULL) touch_signal(number);
  if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, "sigaction");
  return real(number, action, old);
}

INTERPOSED __sighandler_t sigset(int number, __sighandler_t handler) {
  static __sighandler_t (*real)(int, __sighandler_t);
  touch_signal(number);
  if (real == NULL) real = (__sighandler_t(*)(int, __sighandler_t))dlsym(RTLD_NEXT, "sigset");
  return real(number, handler);
}

INTERPOSED __sighandler_t sysv_signal(int number, __sighandler_t handler) {
  static __sighandler_t (*real)(int, __sighandler_t);
  touch_signal(number);
  if (real == NULL) real = (__sighandler_t(*)(int, __sighandler_t))dlsym(RTLD_NEXT, "sysv_signal");
  return real(number, handler);
}

INTERPOSED __sighandler_t __sysv_signal(int number, __sighandler_t handler) {
  return sysv_signal(number, handler);
}

INTERPOSED int siginterrupt(int number, int flag) {
  static int (*real)(int, int);
  touch_signal(number);
  if (real == NULL) real = (int (*)(int, int))dlsym(RTLD_NEXT, "siginterrupt");
  return real(number, flag);
}

INTERPOSED __sighandler_t signal(int number, __sighandler_t handler) {
  static __sighandler_t (*real)(int, __sighandler_t);
  touch_signal(number);
  if (real == NULL) real = (__sighandler_t(*)(int, __sighandler_t))dlsym(RTLD_NEXT, "signal");
  return real(number, handler);
}

/* ---- what cannot be undone ---- */

INTERPOSED int unshare(int flags) {
  call_doubt(RETIRED_IDENTITY, "unshare");
  return (int)back(raw_call(SYS_unshare, flags));
}

INTERPOSED int setns(int fd, int type) {
  call_doubt(RETIRED_IDENTITY, "setns");
  return (int)back(raw_call(SYS_setns, fd, type));
}

INTERPOSED int chroot(const char *path) {
  call_doubt(RETIRED_IDENTITY, "chroot");
  return (int)back(raw_call(SYS_chroot, path));
}

static int undoes(const struct sembuf *operations, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if ((operations[i].sem_flg & SEM_UNDO) != 0) return 1;
  }
  return 0;
}

INTERPOSED int semtimedop(int set, struct sembuf *operations, size_t count,
                          const struct timespec *timeout) {
  if (undoes(operations, count)) call_doubt(RETIRED_CALL, "semop with SEM_UNDO");
  return (int)back(raw_call(SYS_semtimedop, set, operations, count, timeout));
}

INTERPOSED int semop(int set, struct sembuf *operations, size_t count) {
  return semtimedop(set, operations, count, NULL);
}

INTERPOSED long ptrace(enum __ptrace_request request, ...) {
  va_list list;
  va_start(list, request);
  pid_t pid = va_arg(list, pid_t);
  void *address = va_arg(list, void *), *data = va_arg(list, void *);
  va_end(list);
  if (request == PTRACE_TRACEME) call_doubt(RETIRED_CALL, "ptrace");
  long word = 0;
  int peeks =
      request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER;
  long result = back(raw_call(SYS_ptrace, request, pid, address, peeks ? (void *)&word : data));
  if (result < 0 || !peeks) return result;
  errno = 0;
  return word;
}

/* ---- the same by number ---- */

static void note_number(long number, long first, long second, long third) {
  switch (number) {
    case SYS_prlimit64:
    case SYS_setrlimit:
      return touch(TOUCHED_LIMITS);
    case SYS_sched_setaffinity:
    case SYS_ioprio_set:
    case SYS_personality:
      return touch(TOUCHED_SCHEDULE);
    case SYS_prctl:
      return note_prctl(first, second);
    case SYS_madvise:
      return note_madvise((void *)first, (size_t)second, (int)third);
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return note_mprotect((void *)first, (size_t)second, (int)third);
    case SYS_process_vm_writev:
      return touch(TOUCHED_PAGES);
    case SYS_mlock:
    case SYS_mlock2:
    case SYS_mlockall:
      return touch(TOUCHED_MEMORY_LOCKS);
    case SYS_rt_sigaction:
      return touch_signal(first);
    case SYS_unshare:
    case SYS_setns:
    case SYS_chroot:
    case SYS_pivot_root:
      return call_doubt(RETIRED_IDENTITY, "a system call on namespaces or the root");
    case SYS_timer_create:
    case SYS_ptrace:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_io_setup:
    case SYS_add_key:
    case SYS_keyctl:
    case SYS_request_key:
    case SYS_set_mempolicy:
    case SYS_mbind:
    case SYS_sched_setattr:
    case SYS_seccomp:
    case SYS_landlock_restrict_self:
#ifdef SYS_arch_prctl
    case SYS_arch_prctl:
#endif
      return call_doubt(RETIRED_CALL, "a system call by its number");
    default:
      return;
  }
}

INTERPOSED long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long words[6];
  for (int i = 0; i < 6; ++i) words[i] = va_arg(list, long);
  va_end(list);
  note_number(number, words[0], words[1], words[2]);
  return back(raw_call6(number, words[0], words[1], words[2], words[3], words[4], words[5]));
}

/* A process that leaves without its exit work is as good as one that comes to its end. */
static _Noreturn void leave(int exit_code) {
  if (state.role == ROLE_ANSWERING && state.reset == RESET_REWIND && state.pid == getpid()) {
    rewind_end(exit_code);
  }
  for (;;) raw_call(SYS_exit_group, exit_code);
}

INTERPOSED void _exit(int exit_code) {
  leave(exit_code);
}

INTERPOSED void _Exit(int exit_code) {
  leave(exit_code);
}
