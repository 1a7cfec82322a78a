/* Calls that few programs make and whose effect the kernel does not show cheaply. They are passed
 * on, and noted: `touched` makes the reset put back what they may have changed; a `doubt` retires
 * the worker. This file has those on limits, schedule, attributes, and what cannot be undone;
 * memory_calls.c, signal_calls.c and calls_by_number.c have the others. For what a program does by
 * the machine's own system call instruction see clean.h. */
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

#include "calls/clean.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/threads_missing.h"
#include "usage.h"

#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif

void call_touch(unsigned what) {
  __atomic_fetch_or(&state.touched, what, __ATOMIC_SEQ_CST); /* by any thread */
  if ((what & ~(unsigned)kTouchedElse) != 0) clean_leave();
  if ((what & (TOUCHED_SIGSYS | TOUCHED_THREADS)) == 0) return;
  calls_pass();
  cycles_leave();
}

/* It need not be known any more what is written. The kernel never comes to an end when it puts
 * guards into a file's memory whose writes it records (MADV_GUARD_INSTALL; seen with Linux 6.18).
 */
static void stop_recording(void) {
  if (state.role == ROLE_ANSWERING && state.reset == RESET_REWIND) scan_leave(state.engine);
}

void call_doubt(enum retirement kind, const char *call) {
  clean_leave();
  calls_pass(); /* it need not be known what else is done */
  if (state.doubt != RETIRED_NOT) return;
  stop_recording();
  state.doubt = kind;
  strncpy(state.doubtful_call, call, sizeof state.doubtful_call - 1);
}

/* ---- limits, schedule, attributes ---- */

INTERPOSED int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
  call_touch(TOUCHED_LIMITS);
  return (int)call_result(processor_limit(0, (int)resource, (const struct rlimit *)limit, NULL));
}

INTERPOSED int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
  call_touch(TOUCHED_LIMITS);
  return (int)call_result(processor_limit(0, (int)resource, limit, NULL));
}

INTERPOSED int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit) {
  return (int)call_result(processor_limit(0, (int)resource, NULL, (struct rlimit *)limit));
}

INTERPOSED int getrlimit(__rlimit_resource_t resource, struct rlimit *limit) {
  return (int)call_result(processor_limit(0, (int)resource, NULL, limit));
}

INTERPOSED int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
                         struct rlimit64 *old) {
  call_touch(TOUCHED_LIMITS);
  if (limit != NULL) answers_see_process("prlimit", pid, __builtin_return_address(0));
  return (int)call_result(
      processor_limit(pid, (int)resource, (const struct rlimit *)limit, (struct rlimit *)old));
}

INTERPOSED int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
                       struct rlimit *old) {
  call_touch(TOUCHED_LIMITS);
  if (limit != NULL) answers_see_process("prlimit", pid, __builtin_return_address(0));
  return (int)call_result(processor_limit(pid, (int)resource, limit, old));
}

INTERPOSED int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set) {
  call_touch(TOUCHED_SCHEDULE);
  answers_see_process("sched_setaffinity", pid, __builtin_return_address(0));
  return (int)call_result(libc_call(SYS_sched_setaffinity, pid, bytes, set));
}

INTERPOSED int personality(unsigned long persona) {
  call_touch(TOUCHED_SCHEDULE);
  return (int)call_result(libc_call(SYS_personality, persona));
}

/* Attributes that are put back, or that are read from the kernel each time; for all others it
 * matters whether they only query. */
static int is_put_back(long option) {
  return option == PR_SET_PDEATHSIG || option == PR_SET_NAME || option == PR_SET_DUMPABLE ||
         option == PR_SET_KEEPCAPS || option == PR_SET_TIMERSLACK || option == PR_SET_SECUREBITS ||
         option == PR_SET_NO_NEW_PRIVS || option == PR_SET_CHILD_SUBREAPER ||
         option == PR_SET_THP_DISABLE || option == PR_SET_MEMORY_MERGE || option == PR_SET_PTRACER;
}

static int only_asks(long option, long what) {
  static const int kQuestions[] = {PR_GET_PDEATHSIG,        PR_GET_DUMPABLE,     PR_GET_UNALIGN,
                                   PR_GET_KEEPCAPS,         PR_GET_FPEMU,        PR_GET_FPEXC,
                                   PR_GET_TIMING,           PR_GET_NAME,         PR_GET_ENDIAN,
                                   PR_GET_SECCOMP,          PR_CAPBSET_READ,     PR_GET_TSC,
                                   PR_GET_SECUREBITS,       PR_GET_TIMERSLACK,   PR_MCE_KILL_GET,
                                   PR_GET_CHILD_SUBREAPER,  PR_GET_NO_NEW_PRIVS, PR_GET_THP_DISABLE,
                                   PR_GET_SPECULATION_CTRL, PR_GET_IO_FLUSHER,   PR_GET_TID_ADDRESS,
                                   PR_GET_MEMORY_MERGE,     PR_GET_MDWE};
  for (size_t i = 0; i < sizeof kQuestions / sizeof *kQuestions; ++i) {
    if (option == kQuestions[i]) return 1;
  }
  return option == PR_CAP_AMBIENT && what == PR_CAP_AMBIENT_IS_SET;
}

void note_prctl(const long *words) {
  long option = words[0];
  if (only_asks(option, words[1])) return;
  if (option == PR_SET_VMA) { /* a name, which ends with the mapping */
    return note_advice((void *)words[2], (size_t)words[3], RETIRED_CALL,
                       "prctl on memory of the checkpoint");
  }
  call_touch(TOUCHED_PRCTL);
  if (is_put_back(option)) return;
  if (option == PR_SET_SECCOMP) { /* filters add up, and none can be taken away */
    call_doubt(RETIRED_IDENTITY, "prctl on its system call filter");
  } else if (option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT) {
    call_doubt(RETIRED_IDENTITY, "prctl on capabilities");
  } else {
    call_doubt(RETIRED_CALL, "prctl");
  }
}

/* A call that fails, for example with an option that this kernel does not know, has done
 * nothing. */
long prctl_watched(const long *words) {
  int may_be_ended = (state.touched & TOUCHED_THREADS) != 0; /* between the call and its note */
  /* A thread that is made later, by the note, would inherit it. */
  if (!only_asks(words[0], words[1]) && words[0] != PR_SET_VMA) threads_needed();
  if (may_be_ended) note_prctl(words);
  long result = libc_call(SYS_prctl, words[0], words[1], words[2], words[3], words[4]);
  if (!may_be_ended && (result >= 0 || result < -4095)) note_prctl(words);
  return call_result(result);
}

INTERPOSED int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  long words[5] = {option};
  for (int i = 1; i < 5; ++i) words[i] = va_arg(list, long);
  va_end(list);
  return (int)prctl_watched(words);
}

/* ---- what cannot be undone ---- */

INTERPOSED int unshare(int flags) {
  call_doubt(RETIRED_IDENTITY, "unshare");
  return (int)call_result(libc_call(SYS_unshare, flags));
}

INTERPOSED int setns(int fd, int type) {
  call_doubt(RETIRED_IDENTITY, "setns");
  return (int)call_result(libc_call(SYS_setns, fd, type));
}

INTERPOSED int chroot(const char *path) {
  call_doubt(RETIRED_IDENTITY, "chroot");
  return (int)call_result(libc_call(SYS_chroot, path));
}

static int undoes(const struct sembuf *operations, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if ((operations[i].sem_flg & SEM_UNDO) != 0) return 1;
  }
  return 0;
}

INTERPOSED int semtimedop(int set, struct sembuf *operations, size_t count,
                          const struct timespec *timeout) {
  if (undoes(operations, count)) {
    call_touch(TOUCHED_SEMAPHORES);
    call_doubt(RETIRED_CALL, "semop with SEM_UNDO");
  }
  go_threads_see_wait();
  return (int)call_result(libc_call(SYS_semtimedop, set, operations, count, timeout));
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
  long result =
      call_result(libc_call(SYS_ptrace, request, pid, address, peeks ? (void *)&word : data));
  if (result < 0 || !peeks) return result;
  errno = 0;
  return word;
}

uintptr_t readable_page;

int may_be_memory(const void *address) {
  enum { kNoWay = -1, kWordBytes = 8, kPageBits = 12 };
  uintptr_t at = (uintptr_t)address, page = at >> kPageBits;
  if (at < 1 << 16 || (intptr_t)at < 0) return 0;
  if (page == __atomic_load_n(&readable_page, __ATOMIC_RELAXED)) return 1;
  /* The kernel reads a mask of signals before it looks what is to be done with it. */
  long result =
      libc_call(SYS_rt_sigprocmask, kNoWay, at & -(uintptr_t)kWordBytes, NULL, kWordBytes);
  if (result == -EFAULT) return 0;
  __atomic_store_n(&readable_page, page, __ATOMIC_RELAXED);
  return 1;
}
