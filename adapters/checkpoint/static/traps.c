/* Each system call of a static executable: noted, made, answered. */
#include "static/traps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "calls/calls_by_number.h"
#include "calls/clean.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/hand_over.h"
#include "rewind/other_threads.h"
#include "usage.h"

#if defined(__x86_64__)

#include <asm/prctl.h>
#include <linux/audit.h>

enum { kMaskBytes = 8 };
static const char kHandBack =
    1; /* what the kernel reads at each call: SYSCALL_DISPATCH_FILTER_BLOCK */

/* This library's own bounds, set by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* A program that is linked with libc shares it with this library, and only Go's own calls count. */
void traps_describe(struct trap_range *range) {
  *range = (struct trap_range){(uintptr_t)__ehdr_start, (size_t)(_end - __ehdr_start), &kHandBack};
  uintptr_t end = state.executable.go.code.end;
  if (program_is_linked_go()) *range = (struct trap_range){end, ~(uintptr_t)0 - end, &kHandBack};
}

long traps_of_thread(int on) {
  struct trap_range range;
  if (!on) return raw_call(SYS_prctl, kDispatch, kDispatchOff, 0, 0, 0);
  traps_describe(&range);
  return raw_call(SYS_prctl, kDispatch, kDispatchOn, range.start, range.bytes, range.selector);
}

int traps_are_offered(void) {
  long result = traps_of_thread(1);
  traps_of_thread(0);
  return result == 0;
}

/* ---- what needs libc ---- */

struct visit libc_enter(void) {
  struct visit visit = {0};
  uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &visit.mask, kMaskBytes);
  if (program_is_static()) {
    raw_call(SYS_arch_prctl, ARCH_GET_FS, &visit.thread_block);
    raw_call(SYS_arch_prctl, ARCH_SET_FS, state.executable.ours.block);
  } else {
    visit.error = errno;
  }
  return visit;
}

void libc_leave(const struct visit *visit) {
  if (program_is_static()) {
    raw_call(SYS_arch_prctl, ARCH_SET_FS, visit->thread_block);
  } else {
    errno = visit->error;
  }
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &visit->mask, NULL, kMaskBytes);
}

/* This library's replacements of libc's functions serve the calls themselves, too. A libc function
 * that made a call here would have it handed back, which must not happen in the handler. */
static __attribute__((noinline)) long result_by_libc(long number, const long *words) {
  switch (number) {
    case SYS_getrusage:
    case SYS_times:
    case SYS_clock_gettime:
      return processor_time_by_number(number, words);
    default:
      return syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  }
}

static __attribute__((noinline)) long by_libc(long number, const long *words) {
  int makes_child = number == SYS_fork || number == SYS_clone || number == SYS_clone3;
  int is_blocked = makes_child && own_signal_is_blocked();
  struct visit visit = libc_enter();
  long result = result_by_libc(number, words);
  if (result == -1) result = -errno;
  libc_leave(&visit);
  if (makes_child && result == 0) {
    own_signal_copied(is_blocked);
    traps_in_child();
  }
  return result;
}

/* ---- memory of the program ---- */

int copy_in(void *to, long from, size_t bytes) {
  struct iovec here = {to, bytes}, there = {(void *)from, bytes};
  long got = raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &here, 1, &there, 1, 0);
  if (got == (long)bytes) return 0;
  if (got == -EFAULT || got >= 0) return -1;
  memcpy(to, (const void *)from, bytes); /* the call is forbidden here */
  return 0;
}

long copy_out(long to, const void *from, size_t bytes) {
  struct iovec here = {(void *)(uintptr_t)from, bytes}, there = {(void *)to, bytes};
  long put = raw_call(SYS_process_vm_writev, raw_call(SYS_getpid), &here, 1, &there, 1, 0);
  if (put == (long)bytes) return 0;
  if (put == -EFAULT || put >= 0) return -EFAULT;
  memcpy((void *)to, from, bytes);
  return 0;
}

/* ---- the end ---- */

static _Noreturn void leave(int exit_code) {
  uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, kMaskBytes);
  traps_end();
  if (!program_is_static()) _exit(exit_code);
  raw_call(SYS_arch_prctl, ARCH_SET_FS, state.executable.ours.block);
  worker_finish(exit_code, NULL);
  give_up(exit_code);
}

static int is_only_thread(void) {
  return (state.touched & TOUCHED_THREADS) == 0 || threads_of_process() == 1;
}

/* exit() ends a thread; the last one's exit ends the process. */
static long trapped_exit(int exit_code) {
  if (raw_call(SYS_gettid) == state.pid && is_only_thread()) leave(exit_code);
  own_signal_forget((pid_t)raw_call(SYS_gettid));
  return raw_call(SYS_exit, exit_code);
}

/* ---- a call ---- */

/* A filter that does not allow what this handler does would end the program. So the program makes
 * this call itself, and all that follow; its end is then the process's, which completes the answer.
 */
static long leave_alone(long number, ucontext_t *context, const char *call) {
  enum { kCallBytes = 2 };
  call_doubt(RETIRED_IDENTITY, call);
  if (is_only_thread()) own_signal_give_back(context); /* others need its handler */
  traps_of_thread(0);
  context->uc_mcontext.gregs[REG_RIP] -= kCallBytes;
  return number;
}

static int is_for_libc(long number, const long *words) {
  switch (number) {
    case SYS_prctl:
    case SYS_madvise:
    case SYS_getrusage:
    case SYS_times:
    case SYS_fork:
    case SYS_clone:
    case SYS_clone3:
      return 1;
    case SYS_clock_gettime: /* of processor time; the time of day rarely comes here */
      return (int)words[0] < 0 || (int)words[0] == CLOCK_PROCESS_CPUTIME_ID ||
             (int)words[0] == CLOCK_THREAD_CPUTIME_ID;
    case SYS_open:
      return (words[1] & O_ACCMODE) != O_RDONLY;
    case SYS_openat:
      return (words[2] & O_ACCMODE) != O_RDONLY;
    case SYS_creat:
    case SYS_openat2:
      return 1;
    default:
      return 0;
  }
}

static int is_about_huge_pages(int advice) {
  enum { kCollapse = 25 }; /* <linux/mman.h>; newer than some headers */
  return advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE || advice == kCollapse;
}

/* Each a structure of the program's, or 0. */
static long trapped_limit(pid_t process, int resource, long limit, long old) {
  struct rlimit wanted, before;
  if (limit != 0 && copy_in(&wanted, limit, sizeof wanted) != 0) return -EFAULT;
  if (limit != 0) call_touch(TOUCHED_LIMITS);
  long result =
      processor_limit(process, resource, limit != 0 ? &wanted : NULL, old != 0 ? &before : NULL);
  return result == 0 && old != 0 ? copy_out(old, &before, sizeof before) : result;
}

long as_it_came(long number, const long *words) {
  return raw_call6(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* The program's own signal is this library's meanwhile. */
static void trapped_exec(long number, const long *words) {
  struct signal_action own;
  if (number != SYS_execve && number != SYS_execveat) return;
  own_signal_act(NULL, &own);
  if (own_signal_is_blocked() || own.handler == SIG_IGN) return;
  struct visit visit = libc_enter();
  hand_over_trapped(number, words, visit.mask);
  libc_leave(&visit);
}

/* What a thread has of its own, its block and where its id is, is put back, or ends with it. What
 * else arch_prctl() sets stays. */
static long trapped_of_thread(long number, const long *words) {
  if (number == SYS_arch_prctl && words[0] != ARCH_SET_FS && !arch_prctl_only_asks(words[0]))
    call_doubt(RETIRED_CALL, "arch_prctl");
  return raw_call(number, words[0], words[1]);
}

static long trapped_call(long number, const long *words, ucontext_t *context) {
  uint64_t how;
  if (!call_leaves_nothing(number, words)) call_touch(TOUCHED_ASKED);
  if (program_is_go()) {
    go_watch_call(number, words, context);
    go_threads_see_call(number, words);
    if (go_threads_hold(number, words)) return 0;
  }
  trapped_exec(number, words);
  switch (number) {
    case SYS_exit_group:
      leave((int)words[0]);
    case SYS_exit:
      return trapped_exit((int)words[0]);
    case SYS_timer_create:
      return timer_create_by_number(words);
    case SYS_timer_delete:
      return timer_delete_by_number(words);
    case SYS_getrlimit:
      return trapped_limit(0, (int)words[0], 0, words[1]);
    case SYS_setrlimit:
      return trapped_limit(0, (int)words[0], words[1], 0);
    case SYS_prlimit64:
      return trapped_limit((pid_t)words[0], (int)words[1], words[2], words[3]);
    case SYS_munmap:
      trapped_munmap(words, context);
      break;
    case SYS_madvise: /* only a hint, but one that stays with the mapping */
      if (program_is_go() && is_about_huge_pages((int)words[2])) return 0;
      break;
    case SYS_tgkill:
      if (program_is_go()) return go_program_tgkill(words);
      break;
    case SYS_openat2:
      if (copy_in(&how, words[2], sizeof how) != 0) return as_it_came(number, words);
      break;
    case SYS_rseq: /* the preloaded libc has registered its own, and the kernel has room for one */
      return -ENOSYS;
    case SYS_prctl:
      if (words[0] == kDispatch) return -EINVAL;
      if (words[0] == PR_SET_SECCOMP) return leave_alone(number, context, "seccomp");
      break;
    case SYS_seccomp:
      return leave_alone(number, context, "seccomp");
    case SYS_ptrace: /* each of our signals would stop it, before its tracer expects that */
      if (words[0] == PTRACE_TRACEME) return leave_alone(number, context, "ptrace");
      break;
    case SYS_set_tid_address:
    case SYS_arch_prctl:
      return trapped_of_thread(number, words);
    case SYS_vfork:
    case SYS_clone:
    case SYS_clone3:
      if (!clone_is_understood(number, words)) return as_it_came(number, words);
      if (clone_shares_memory_or_has_stack(number, words)) {
        return trapped_clone(number, words, context);
      }
      break;
    default:
      break;
  }
  long answer = trapped_signal_call(number, words, context);
  if (answer != kNotTaken) return answer;
  answer = trapped_path(number, words);
  if (answer != kNotTaken) return answer;
  if (is_for_libc(number, words)) return by_libc(number, words);
  call_note_number(number, words);
  return as_it_came(number, words);
}

/* The kernel hands a call back by a signal of which a thread has one at most. If the same one was
 * sent to this thread just before, nothing says that there was a call: it was not made, and its
 * number is still where the result would be. But its instruction has left its address in rcx, which
 * is cleared below for each call that was made. */
static void make_lost_call(greg_t *registers) {
  static const unsigned char kCall[] = {0x0f, 0x05};
  unsigned char code[sizeof kCall];
  long place = registers[REG_RIP] - (long)sizeof kCall;
  struct trap_range passed;
  traps_describe(&passed);
  if ((uintptr_t)registers[REG_RIP] - passed.start < passed.bytes) return;
  if (registers[REG_RCX] != registers[REG_RIP]) return;
  if (copy_in(code, place, sizeof code) != 0 || memcmp(code, kCall, sizeof code) != 0) return;
  registers[REG_RIP] = place;
}

static void on_other_signal(int number, siginfo_t *info, ucontext_t *context) {
  make_lost_call(context->uc_mcontext.gregs);
  if (!go_threads_are_due(info)) own_signal_came(number, info, context);
}

static void on_trap(int number, siginfo_t *info, void *frame) {
  ucontext_t *context = frame;
  greg_t *registers = context->uc_mcontext.gregs;
  if (info->si_code != kByDispatch) return on_other_signal(number, info, context);
  const long words[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                         registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  enum { kCallBytes = 2 };
  if (program_is_go() && state.role == ROLE_ZYGOTE &&
      go_mark_reached((uintptr_t)info->si_call_addr - kCallBytes, context)) {
    return;
  }
  if (state.executable.main != 0 && state.role == ROLE_ZYGOTE &&
      (uintptr_t)info->si_call_addr == state.executable.main + sizeof state.executable.main_code) {
    return static_executable_at_main(context);
  }
  long call = (int)registers[REG_RAX];      /* the kernel takes no more of it */
  if (info->si_arch != AUDIT_ARCH_X86_64) { /* rcx has its second word */
    registers[REG_RAX] = leave_alone(call, context, "a system call of 32 bits");
    return;
  }
  registers[REG_RCX] = 0;
  registers[REG_RAX] = trapped_call(call, words, context);
}

/* A child may have been made without its parent's handlers (CLONE_CLEAR_SIGHAND). */
static int handle_traps(int flags) {
  struct signal_action action;
  memset(&action, 0, sizeof action);
  action.handler = (void (*)(int))(uintptr_t)on_trap;
  action.flags = (unsigned long)(SA_SIGINFO | SA_NODEFER | kWithRestorer | flags);
  action.restorer = threads_return;
  if (raw_call(SYS_rt_sigaction, SIGSYS, &action, NULL, kMaskBytes) != 0) return -1;
  return traps_of_thread(1) == 0 ? 0 : -1;
}

int traps_in_child(void) {
  /* It is a timer's as well; see go/threads.c. */
  if (program_is_go()) return handle_traps(SA_ONSTACK | SA_RESTART);
  const int restarts = own_signal_restarts() ? SA_RESTART : 0;
  return handle_traps(program_has_small_stacks() ? SA_ONSTACK | restarts : restarts);
}

int traps_in_child_aside(void) {
  return handle_traps(SA_ONSTACK);
}

int traps_begin(void) {
  own_signal_begin();
  note_signal(SIGSYS);
  return traps_in_child();
}

void traps_end(void) {
  traps_of_thread(0);
}

#else

int traps_are_offered(void) {
  return 0;
}

#endif
