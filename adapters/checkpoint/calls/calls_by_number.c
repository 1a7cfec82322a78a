/* syscall(): what rare_calls.c and its siblings note, by number; and the ways to leave. */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "calls/calls_by_number.h"
#include "calls/clean.h"
#include "calls/named_files.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/hand_over.h"
#include "rewind/inherited.h"
#include "rewind/threads.h"
#include "rewind/threads_missing.h"

/* The newest call that this list knows: any higher number may change a process in ways of its own.
 */
enum { kNewestKnown = 469 };

/* membarrier(2): the commands that register the process for something. */
enum { kRegistrations = 1 << 2 | 1 << 4 | 1 << 6 | 1 << 8 };

static int cannot_be_undone(long number) {
  switch (number) {
    case SYS_timer_create:
    case SYS_ptrace:
    case SYS_io_setup:
    case SYS_io_uring_setup:
    case SYS_add_key:
    case SYS_keyctl:
    case SYS_request_key:
    case SYS_set_mempolicy:
    case SYS_set_mempolicy_home_node:
    case SYS_seccomp:
    case SYS_landlock_restrict_self:
    case SYS_vmsplice:
    case SYS_mq_notify:
    case SYS_bpf: /* programs that observe, on what others can hold */
    case SYS_userfaultfd:
    case SYS_pkey_alloc:
    case SYS_pkey_free:
    case SYS_set_tid_address:
    case SYS_rseq:
#ifdef SYS_arch_prctl
    case SYS_arch_prctl:
    case SYS_modify_ldt:
    case SYS_set_thread_area:
    case SYS_iopl:
    case SYS_ioperm:
#endif
    case SYS_open_by_handle_at: /* see look_at_handle() */
    case SYS_setxattr:          /* see look_at_attribute() */
    case SYS_lsetxattr:
    case SYS_fsetxattr:
    case 463: /* setxattrat */
    case 453: /* map_shadow_stack */
    case 460: /* lsm_set_self_attr */
    case 462: /* mseal */
      return 1;
    default:
      return number > kNewestKnown;
  }
}

static void note_open_by_number(long number, const long *words) {
  switch (number) {
#ifdef SYS_open
    case SYS_open:
      return note_open(AT_FDCWD, (const char *)words[0], (int)words[1]);
    case SYS_creat:
      return note_open(AT_FDCWD, (const char *)words[0], O_WRONLY);
#endif
    case SYS_openat2: /* its flags are a structure's first word */
      return note_open((int)words[0], (const char *)words[1],
                       may_be_memory((const void *)words[2]) ? *(const int *)words[2] : 0);
    default:
      return note_open((int)words[0], (const char *)words[1], (int)words[2]);
  }
}

static void note_memory_by_number(long number, const long *words) {
  const void *start = (const void *)words[0];
  size_t bytes = (size_t)words[1];
  switch (number) {
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      return note_mprotect(start, bytes, (int)words[2]);
    case SYS_mmap:
      return note_mmap(start, bytes, (int)words[2], (int)words[3], (int)words[4]);
    case SYS_munmap:
      return note_munmap(start, bytes);
    case SYS_madvise:
      return note_madvise(start, bytes, (int)words[2]);
    case SYS_mremap:
      return note_mremap(start, bytes, (size_t)words[2], (int)words[3], (const void *)words[4]);
    case SYS_shmat:
      return note_shmat((int)words[2]);
    case SYS_mbind:
      return note_advice(start, bytes, RETIRED_CALL, "mbind");
    case SYS_remap_file_pages:
      return call_doubt(RETIRED_MAPPINGS, "remap_file_pages");
    case SYS_process_vm_writev:
      return call_touch(kTouchedAllPages);
    case SYS_process_madvise:
      return note_process_madvise((int)words[3]);
    default:
      return call_touch(TOUCHED_MEMORY_LOCKS);
  }
}

/* What may be aimed at this process. */
static void note_file_by_number(long number, const long *words) {
  switch (number) {
    case SYS_setsockopt:
      return note_socket(words[1], words[2]);
    case SYS_fcntl:
      return note_fcntl(words[0], words[1], words[2]);
    case SYS_ioctl:
      return note_ioctl(words[0], (unsigned)words[1]);
    default: /* who has the event, observes later requests */
      return call_doubt(RETIRED_CALL, "perf_event_open");
  }
}

/* What closes a descriptor, ends a process's locks, or makes a file. */
static void note_end_by_number(long number, const long *words) {
  switch (number) {
    case SYS_close:
      inherited_let_go(words[0]);
      return note_number(words[0]);
#ifdef SYS_dup2
    case SYS_dup2:
#endif
    case SYS_dup3:
      return words[0] == words[1] ? (void)0 : inherited_let_go(words[1]);
    case SYS_close_range:
      return inherited_let_all_go();
    case SYS_fcntl:
      if (words[1] == F_SETLK || words[1] == F_SETLKW) inherited_let_go(words[0]);
      return;
    default:
      return named_files_see_number(number, words);
  }
}

void call_note_number(long number, const long *words) {
  note_end_by_number(number, words);
  if (!call_leaves_nothing(number, words)) call_touch(TOUCHED_ASKED);
  threads_see_number(number, words);
  switch (number) {
    case SYS_prlimit64:
    case SYS_setrlimit:
      return call_touch(TOUCHED_LIMITS);
    case SYS_sched_setaffinity:
    case SYS_ioprio_set:
    case SYS_personality:
      return call_touch(TOUCHED_SCHEDULE);
    case SYS_prctl:
      return note_prctl(words);
#ifdef SYS_open
    case SYS_open:
    case SYS_creat:
#endif
    case SYS_openat:
    case SYS_openat2:
      return note_open_by_number(number, words);
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_mmap:
    case SYS_munmap:
    case SYS_madvise:
    case SYS_shmat:
    case SYS_mremap:
    case SYS_mbind:
    case SYS_remap_file_pages:
    case SYS_process_vm_writev:
    case SYS_process_madvise:
    case SYS_mlock:
    case SYS_mlock2:
    case SYS_mlockall:
      return note_memory_by_number(number, words);
    case SYS_rt_sigaction:
      return note_signal(words[0]);
    case SYS_setsockopt:
    case SYS_fcntl:
    case SYS_ioctl:
    case SYS_perf_event_open:
      return note_file_by_number(number, words);
    case SYS_membarrier:
      if ((words[0] & kRegistrations) == 0) return;
      return call_doubt(RETIRED_CALL, "membarrier, with a registration");
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_capset:
      return call_touch(TOUCHED_PRCTL); /* see passed_calls.h */
    case SYS_unshare:
    case SYS_setns:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_setfsuid:
    case SYS_setfsgid:
      return call_doubt(RETIRED_IDENTITY, "a system call on users, namespaces or the root");
    case SYS_semop:
    case SYS_semtimedop:
      call_touch(TOUCHED_SEMAPHORES);
      return call_doubt(RETIRED_CALL, "semop by its number");
    default:
      if (cannot_be_undone(number)) call_doubt(RETIRED_CALL, "a system call by its number");
      return;
  }
}

/* Rings are shared with the kernel, and can neither be copied nor put back. libuv makes one for
 * each of its loops, also for those of a request's worker threads, and does without where the
 * kernel has none. */
static int has_no_rings(long number) {
  return number == SYS_io_uring_setup && state.level != LEVEL_LINKED && !state.is_ahead &&
         (state.role == ROLE_ZYGOTE ||
          (state.role == ROLE_ANSWERING && state.reset == RESET_REWIND));
}

INTERPOSED long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  number = (int)number; /* the kernel takes no more of it */
  long words[6];
  for (int i = 0; i < 6; ++i) words[i] = va_arg(list, long);
  load_watch_note_number(number, words, __builtin_return_address(0));
  va_end(list);
  if (has_no_rings(number)) return call_result(-ENOSYS);
  if (number == SYS_prctl) return prctl_watched(words);
  if (number == SYS_madvise) {
    return madvise_watched((void *)words[0], (size_t)words[1], (int)words[2]);
  }
  if (child_by_number(number)) return call_result(child_make_by_number(number, words));
  long result;
  if (exec_by_number(number, words, __builtin_return_address(0), &result)) return result;
  hand_over_by_number(number, words);
  call_note_number(number, words);
  go_threads_see_c_call(number, words);
  return call_result(
      call_by_libc(number, words[0], words[1], words[2], words[3], words[4], words[5]));
}

/* A process that leaves without its exit work counts as one that reaches its end. */
static _Noreturn void leave(int exit_code) {
  if (state.role == ROLE_ANSWERING && state.reset == RESET_REWIND) {
    clean_end();
    enum leaver leaver = thread_that_leaves();
    if (leaver != LEAVER_CHILD) rewind_end(exit_code, leaver);
  }
  give_up(exit_code);
}

INTERPOSED void _exit(int exit_code) {
  leave(exit_code);
}

INTERPOSED void _Exit(int exit_code) {
  leave(exit_code);
}
