/* Signals of a static executable. The one by which its calls are handed back always gets through;
 * as far as the program can see, it is a signal like any other. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

#if defined(__x86_64__)

enum { kMaskBytes = 8, kSignalStackMin = 2048 };
enum { kAutoDisarm = INT_MIN }; /* SS_AUTODISARM */
static const uint64_t kTrapSignal = 1ull << (SIGSYS - 1);

/* The program's own action for it, and which threads block it: for a signal that somebody sent. A
 * thread that has no place here counts as not blocking it. A place is one word, so that whether a
 * signal came changes hands together with the place: 0, or a thread's id and kCame. */
enum { kBlockersMax = 128, kCame = 1 << 30 };
static struct signal_action own_action;
static int blockers[kBlockersMax];
static int blocker_count;

static int *blocker_of(pid_t thread) {
  if (__atomic_load_n(&blocker_count, __ATOMIC_SEQ_CST) == 0) return NULL;
  for (size_t i = 0; i < kBlockersMax; ++i) {
    if ((__atomic_load_n(&blockers[i], __ATOMIC_SEQ_CST) & ~kCame) == thread) return &blockers[i];
  }
  return NULL;
}

static int *blocker_here(void) {
  if (__atomic_load_n(&blocker_count, __ATOMIC_SEQ_CST) == 0) return NULL;
  return blocker_of((pid_t)raw_call(SYS_gettid));
}

int own_signal_is_blocked(void) {
  return blocker_here() != NULL;
}

void own_signal_inherit(int is_blocked) {
  pid_t thread = is_blocked ? (pid_t)raw_call(SYS_gettid) : 0;
  for (size_t i = 0; is_blocked && i < kBlockersMax; ++i) {
    int none = 0;
    if (!__atomic_compare_exchange_n(&blockers[i], &none, thread, 0, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
      continue;
    }
    __atomic_add_fetch(&blocker_count, 1, __ATOMIC_SEQ_CST);
    return;
  }
}

void own_signal_copied(int is_blocked) {
  memset(blockers, 0, sizeof blockers);
  blocker_count = 0;
  own_signal_inherit(is_blocked);
}

/* Whether a signal came for it meanwhile. */
static int blocker_end(int *blocker) {
  int was = __atomic_exchange_n(blocker, 0, __ATOMIC_SEQ_CST);
  __atomic_sub_fetch(&blocker_count, 1, __ATOMIC_SEQ_CST);
  return (was & kCame) != 0;
}

void own_signal_forget(pid_t thread) {
  int *blocker = thread > 0 ? blocker_of(thread) : NULL;
  if (blocker != NULL) blocker_end(blocker);
}

void own_signal_act(const struct signal_action *action, struct signal_action *old) {
  struct signal_action before = own_action;
  if (action != NULL) own_action = *action;
  if (old != NULL) *old = before;
}

static long trapped_sigaction(const long *words) {
  struct signal_action action, *old = (struct signal_action *)words[2];
  if (words[3] != kMaskBytes) return -EINVAL;
  if (words[1] != 0 && copy_in(&action, words[1], sizeof action) != 0) return -EFAULT;
  if (words[0] == SIGSYS) {
    struct signal_action before;
    own_signal_act(words[1] != 0 ? &action : NULL, &before);
    if (words[1] != 0) {
      note_signal(SIGSYS);
      traps_in_child(); /* it may interrupt calls, or not */
    }
    return old == NULL ? 0 : copy_out(words[2], &before, sizeof before);
  }
  struct signal_action kept;
  if (go_marks_act((int)words[0], words[1] != 0 ? &action : NULL, &kept))
    return old == NULL ? 0 : copy_out(words[2], &kept, sizeof kept);
  if (words[1] == 0) return raw_call(SYS_rt_sigaction, words[0], NULL, old, kMaskBytes);
  note_signal(words[0]);
  action.mask &= ~kTrapSignal;
  return raw_call(SYS_rt_sigaction, words[0], &action, old, kMaskBytes);
}

static void block_own_signal(int blocks) {
  int *blocker = blocker_here();
  if (blocks == (blocker != NULL)) return;
  if (blocks) return own_signal_inherit(1);
  if (blocker_end(blocker)) {
    raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), SIGSYS);
  }
}

/* The signal by which calls come is not blocked for a moment either: one that is let in now has a
 * handler that may make calls. The mask that holds after this handler's return is in its frame. */
static long trapped_sigprocmask(const long *words, ucontext_t *context) {
  uint64_t asked = 0, before = 0, now = 0;
  if (words[3] != kMaskBytes) return -EINVAL;
  if (words[1] != 0 && copy_in(&asked, words[1], sizeof asked) != 0) return -EFAULT;
  int names_it = (asked & kTrapSignal) != 0, was_blocked = own_signal_is_blocked();
  asked &= ~kTrapSignal;
  long result =
      raw_call(SYS_rt_sigprocmask, words[0], words[1] != 0 ? &asked : NULL, &before, kMaskBytes);
  if (result != 0) return result;
  if (was_blocked) before |= kTrapSignal;
  if (words[1] != 0) {
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &now, kMaskBytes);
    memcpy(&context->uc_sigmask, &now, sizeof now);
    if (names_it || words[0] == SIG_SETMASK) block_own_signal(names_it && words[0] != SIG_UNBLOCK);
  }
  return words[2] != 0 ? copy_out(words[2], &before, sizeof before) : 0;
}

/* A mask for the duration of a wait; the handler that ends it must be able to make calls. */
static long trapped_wait(long number, const long *words, int mask_word) {
  long changed[6];
  uint64_t mask;
  memcpy(changed, words, sizeof changed);
  if (words[mask_word] != 0) {
    if (copy_in(&mask, words[mask_word], sizeof mask) != 0) return -EFAULT;
    mask &= ~kTrapSignal;
    changed[mask_word] = (long)&mask;
  }
  return raw_call6(number, changed[0], changed[1], changed[2], changed[3], changed[4], changed[5]);
}

static long trapped_select(const long *words) {
  struct {
    long mask;
    size_t bytes;
  } argument;
  uint64_t mask;
  if (words[5] == 0 || copy_in(&argument, words[5], sizeof argument) != 0 || argument.mask == 0) {
    return raw_call6(SYS_pselect6, words[0], words[1], words[2], words[3], words[4], words[5]);
  }
  if (copy_in(&mask, argument.mask, sizeof mask) != 0) return -EFAULT;
  mask &= ~kTrapSignal;
  argument.mask = (long)&mask;
  return raw_call6(SYS_pselect6, words[0], words[1], words[2], words[3], words[4], (long)&argument);
}

static int is_within(uintptr_t address, const stack_t *stack) {
  uintptr_t first = (uintptr_t)stack->ss_sp;
  return stack->ss_size != 0 && address > first && address - first <= stack->ss_size;
}

/* Replaces the stack that this handler is on: the call is made with the program's stack pointer,
 * because the kernel refuses it from the stack itself, and the handler is left by its frame at
 * once. */
static _Noreturn void replace_own_signal_stack(const stack_t *wanted, ucontext_t *context) {
  enum { kBelow = 512 }; /* at least what the program may have below its stack pointer */
  uintptr_t stack = ((uintptr_t)context->uc_mcontext.gregs[REG_RSP] - kBelow) & ~(uintptr_t)15;
  __asm__ volatile(
      "mov %2, %%rbx\n  mov %0, %%rsp\n  xor %%esi, %%esi\n  mov $131, %%eax\n  syscall\n"
      "mov %%rax, %c3(%%rbx)\n  mov %%rbx, %%rsp\n  mov $15, %%eax\n  syscall\n"
      :
      : "r"(stack), "D"(wanted), "r"(context), "i"(offsetof(ucontext_t, uc_mcontext.gregs[REG_RAX]))
      : "memory", "rbx", "rsi", "rax");
  __builtin_unreachable();
}

/* What the frame says of the signal stack is put in place by the handler's return, so it has to
 * change as well. */
static long trapped_sigaltstack(const long *words, ucontext_t *context) {
  stack_t wanted, now = context->uc_stack;
  int is_on = is_within((uintptr_t)context->uc_mcontext.gregs[REG_RSP], &now);
  if (words[0] != 0 && copy_in(&wanted, words[0], sizeof wanted) != 0) return -EFAULT;
  if (words[1] != 0) {
    stack_t told = now;
    told.ss_flags = (now.ss_flags & kAutoDisarm) | (now.ss_size == 0 ? SS_DISABLE : is_on);
    long result = copy_out(words[1], &told, sizeof told);
    if (result != 0) return result;
  }
  if (words[0] == 0) return 0;
  if (is_on) return -EPERM;
  if ((wanted.ss_flags & SS_DISABLE) != 0) wanted = (stack_t){.ss_flags = SS_DISABLE};
  if (is_within((uintptr_t)__builtin_frame_address(0), &now)) {
    if ((wanted.ss_flags & ~(kAutoDisarm | SS_ONSTACK | SS_DISABLE)) != 0) return -EINVAL;
    if (wanted.ss_flags != SS_DISABLE && wanted.ss_size < (size_t)kSignalStackMin) return -ENOMEM;
    context->uc_stack = wanted;
    replace_own_signal_stack(&wanted, context);
  }
  long result = raw_call(SYS_sigaltstack, &wanted, NULL);
  if (result == 0) context->uc_stack = wanted;
  return result;
}

/* The end of the program's own handler: its frame is where the program's stack is. */
static _Noreturn void trapped_sigreturn(const ucontext_t *context) {
  uintptr_t stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
  ucontext_t *frame = (ucontext_t *)stack;
  uint64_t mask;
  memcpy(&mask, &frame->uc_sigmask, sizeof mask);
  mask &= ~kTrapSignal;
  memcpy(&frame->uc_sigmask, &mask, sizeof mask);
  __asm__ volatile("mov %0, %%rsp\n  mov $15, %%eax\n  syscall\n" : : "r"(stack) : "memory");
  __builtin_unreachable();
}

int own_signal_restarts(void) {
  int is_handled = own_action.handler != SIG_DFL && own_action.handler != SIG_IGN;
  return !is_handled || (own_action.flags & SA_RESTART) != 0;
}

/* The program's handler runs within ours: what the kernel does for a handler is done here. */
static void handle(int number, siginfo_t *info, ucontext_t *context) {
  const struct signal_action action = own_action;
  const uint64_t blocked = action.mask & ~kTrapSignal;
  uint64_t after;
  if ((action.flags & SA_RESETHAND) != 0) own_action.handler = SIG_DFL;
  if (blocked != 0) raw_call(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, NULL, kMaskBytes);
  block_own_signal((action.flags & SA_NODEFER) == 0 || (action.mask & kTrapSignal) != 0);
  ((void (*)(int, siginfo_t *, void *))(uintptr_t)action.handler)(number, info, context);
  memcpy(&after, &context->uc_sigmask, sizeof after); /* the handler may have changed it */
  int stays_blocked = (after & kTrapSignal) != 0;
  after &= ~kTrapSignal;
  memcpy(&context->uc_sigmask, &after, sizeof after);
  block_own_signal(stays_blocked); /* the kernel, too, delivers this one before others */
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &after, NULL, kMaskBytes);
}

void own_signal_came(int number, siginfo_t *info, void *context) {
  int *blocker = blocker_here();
  if (blocker != NULL) {
    __atomic_fetch_or(blocker, kCame, __ATOMIC_SEQ_CST);
    return;
  }
  if (own_action.handler == SIG_IGN) return;
  if (own_action.handler != SIG_DFL) return handle(number, info, context);
  struct signal_action none = {.handler = SIG_DFL};
  raw_call(SYS_rt_sigaction, SIGSYS, &none, NULL, kMaskBytes);
  raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), SIGSYS);
}

void own_signal_begin(void) {
  memset(&own_action, 0, sizeof own_action);
  own_signal_copied(0);
}

void own_signal_give_back(ucontext_t *context) {
  uint64_t mask;
  memcpy(&mask, &context->uc_sigmask, sizeof mask);
  if (own_signal_is_blocked()) mask |= kTrapSignal;
  memcpy(&context->uc_sigmask, &mask, sizeof mask);
  raw_call(SYS_rt_sigaction, SIGSYS, &own_action, NULL, kMaskBytes);
}

long trapped_signal_call(long number, const long *words, ucontext_t *context) {
  switch (number) {
    case SYS_rt_sigreturn:
      trapped_sigreturn(context);
    case SYS_rt_sigaction:
      return trapped_sigaction(words);
    case SYS_rt_sigprocmask:
      return trapped_sigprocmask(words, context);
    case SYS_sigaltstack:
      return trapped_sigaltstack(words, context);
    case SYS_rt_sigsuspend:
      return trapped_wait(number, words, 0);
    case SYS_ppoll:
      return trapped_wait(number, words, 3);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return trapped_wait(number, words, 4);
    case SYS_pselect6:
      return trapped_select(words);
    default:
      return kNotTaken;
  }
}

#endif
