/* syscall(): what rare_calls.c and its siblings note, by number; and the ways to leave. */
#include <linux/types.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"
#include "raw_call.h"

static void note_number(long number, const long *words) {
  switch (number) {
    case SYS_prlimit64:
    case SYS_setrlimit:
      return call_touch(TOUCHED_LIMITS);
    case SYS_sched_setaffinity:
    case SYS_ioprio_set:
    case SYS_personality:
      return call_touch(TOUCHED_SCHEDULE);
    case SYS_prctl:
      return note_prctl(words[0], words[1]);
    case SYS_madvise:
      return note_madvise((void *)words[0], (size_t)words[1], (int)words[2]);
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return note_mprotect((void *)words[0], (size_t)words[1], (int)words[2]);
    case SYS_mmap:
      return note_mmap((void *)words[0], (size_t)words[1], (int)words[3], (int)words[4]);
    case SYS_munmap:
      return note_munmap((void *)words[0], (size_t)words[1]);
    case SYS_mremap:
      return note_mremap((void *)words[0], (size_t)words[1], (size_t)words[2], (int)words[3],
                         (void *)words[4]);
    case SYS_shmat:
      return note_shmat((void *)words[1], (int)words[2]);
    case SYS_remap_file_pages:
      return call_doubt(RETIRED_MAPPINGS, "remap_file_pages");
    case SYS_clone:
    case SYS_clone3:
      return call_touch(TOUCHED_THREADS);
    case SYS_process_vm_writev:
      return call_touch(TOUCHED_PAGES);
    case SYS_mlock:
    case SYS_mlock2:
    case SYS_mlockall:
      return call_touch(TOUCHED_MEMORY_LOCKS);
    case SYS_rt_sigaction:
      return note_signal(words[0]);
    case SYS_unshare:
    case SYS_setns:
    case SYS_chroot:
    case SYS_pivot_root:
      return call_doubt(RETIRED_IDENTITY, "a system call on namespaces or the root");
    case SYS_semop:
    case SYS_semtimedop:
      call_touch(TOUCHED_SEMAPHORES);
      return call_doubt(RETIRED_CALL, "semop by its number");
    case SYS_timer_create:
    case SYS_ptrace:
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
  note_number(number, words);
  return call_result(raw_call6(number, words[0], words[1], words[2], words[3], words[4], words[5]));
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
