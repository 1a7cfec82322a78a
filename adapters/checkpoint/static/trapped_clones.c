/* Threads and processes that share their parent's memory. Such a child cannot return from the
 * handler like its parent: it takes the program's registers and goes on in the program at once. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

#if defined(__x86_64__)

/* What the kernel keeps for a system call, in the order in which the assembly below takes it. rax
 * is the child's 0, and the call itself uses rcx and r11. */
struct registers {
  greg_t rbx, rbp, r12, r13, r14, r15, rdi, rsi, rdx, r10, r8, r9, rip;
};

enum { kRedZone = 128 };
_Static_assert(sizeof(struct registers) <= kRedZone, "no signal may write over it");

static struct registers registers_of(const ucontext_t *context) {
  const greg_t *of = context->uc_mcontext.gregs;
  return (struct registers){of[REG_RBX], of[REG_RBP], of[REG_R12], of[REG_R13], of[REG_R14],
                            of[REG_R15], of[REG_RDI], of[REG_RSI], of[REG_RDX], of[REG_R10],
                            of[REG_R8],  of[REG_R9],  of[REG_RIP]};
}

/* clone_into(number, words, on, word): the call; in the child, first on(word) (it has its calls
 * handed back, too), then the registers that lie below its stack pointer. */
long clone_into(long number, const long *words, void (*on)(uintptr_t), uintptr_t word)
    __attribute__((visibility("hidden")));
__asm__(
    ".text\n.globl clone_into\n.hidden clone_into\n.type clone_into, @function\n"
    "clone_into:\n"
    "  push %rbx\n  push %r12\n  mov %rdx, %rbx\n  mov %rcx, %r12\n"
    "  mov %rdi, %rax\n  mov %rsi, %r11\n"
    "  mov 0(%r11), %rdi\n  mov 8(%r11), %rsi\n  mov 16(%r11), %rdx\n"
    "  mov 24(%r11), %r10\n  mov 32(%r11), %r8\n  mov 40(%r11), %r9\n"
    "  syscall\n"
    "  test %rax, %rax\n  jz 1f\n  pop %r12\n  pop %rbx\n  ret\n"
    "1:\n"
    "  mov %rsp, %rbp\n  sub $256, %rsp\n  and $-16, %rsp\n"
    "  mov %r12, %rdi\n  call *%rbx\n  mov %rbp, %rsp\n"
    "  mov -104(%rsp), %rbx\n  mov -96(%rsp), %rbp\n  mov -88(%rsp), %r12\n"
    "  mov -80(%rsp), %r13\n  mov -72(%rsp), %r14\n  mov -64(%rsp), %r15\n"
    "  mov -56(%rsp), %rdi\n  mov -48(%rsp), %rsi\n  mov -40(%rsp), %rdx\n"
    "  mov -32(%rsp), %r10\n  mov -24(%rsp), %r8\n  mov -16(%rsp), %r9\n"
    "  xor %eax, %eax\n  jmp *-8(%rsp)\n"
    ".size clone_into, . - clone_into\n");
_Static_assert(sizeof(struct registers) == 104, "as the assembly above has it");

static void trap_calls(uintptr_t is_blocked) {
  own_signal_inherit((int)is_blocked);
  traps_in_child();
}

/* Its memory is a copy of its parent's. */
static void forget_in_child(uintptr_t is_blocked) {
  struct visit visit = libc_enter();
  processor_limit_of_child();
  child_forget();
  libc_leave(&visit);
  own_signal_copied((int)is_blocked);
  traps_in_child();
}

struct wanted {
  unsigned long flags;
  uintptr_t stack; /* its end; 0: the parent's */
};

static int clone_can_be_read(long number, const long *words, struct clone_args *arguments) {
  if (number != SYS_clone3) return 1;
  return (size_t)words[1] >= CLONE_ARGS_SIZE_VER0 &&
         copy_in(arguments, words[0], CLONE_ARGS_SIZE_VER0) == 0;
}

int clone_is_understood(long number, const long *words) {
  struct clone_args arguments;
  return clone_can_be_read(number, words, &arguments);
}

static struct wanted wanted_by(long number, const long *words) {
  if (number == SYS_vfork) return (struct wanted){CLONE_VM | CLONE_VFORK, 0};
  if (number == SYS_clone) return (struct wanted){(unsigned long)words[0], (uintptr_t)words[1]};
  struct clone_args arguments;
  if (!clone_can_be_read(number, words, &arguments)) return (struct wanted){0, 0};
  return (struct wanted){arguments.flags, arguments.stack + arguments.stack_size};
}

int clone_shares_memory_or_has_stack(long number, const long *words) {
  struct wanted wanted = wanted_by(number, words);
  return (wanted.flags & CLONE_VM) != 0 || wanted.stack != 0;
}

/* A child for which the parent waits shares nothing that outlives it; see children.c. */
static void note(unsigned long flags) {
  if ((flags & CLONE_THREAD) != 0) return call_touch(TOUCHED_THREADS);
  if ((flags & CLONE_VFORK) != 0) return;
  if ((flags & (CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SYSVSEM)) != 0) {
    call_doubt(RETIRED_CHILDREN, "clone, with something that is shared");
  }
}

/* ---- what is set aside ---- */

/* While the child of vfork() runs, its parent is in a call within this handler. */
enum { kAsideMax = 4, kKeptMax = 16 * 1024, kWaitBytes = 8 * 1024, kMaskBytes = 8 };
struct aside {
  int taken; /* first: read by assembly */
  int is_blocked;
  long number, words[6];
  ucontext_t *context;
  uintptr_t from;
  size_t bytes;
  _Alignas(16) char kept[kKeptMax];
  _Alignas(16) char stack[kWaitBytes];
};
static struct aside asides[kAsideMax];

static struct aside *aside_take(long number, const long *words) {
  for (int i = 0;; i = (i + 1) % kAsideMax) {
    struct aside *aside = &asides[i];
    int none = 0;
    if (__atomic_compare_exchange_n(&aside->taken, &none, 1, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
      aside->is_blocked = own_signal_is_blocked();
      aside->number = number;
      memcpy(aside->words, words, sizeof aside->words);
      return aside;
    }
    if (i == kAsideMax - 1) raw_call(SYS_sched_yield);
  }
}

static void aside_give_back(struct aside *aside) {
  __atomic_store_n(&aside->taken, 0, __ATOMIC_SEQ_CST);
}

/* ---- on a stack of its own ---- */

/* The child of vfork() has its parent's stack for signals, on which the parent's own frame is. So
 * it gets another; the stack on which it was made may be too small for a frame. */
static void begin_aside(uintptr_t word) {
  struct aside *aside = (struct aside *)word;
  const stack_t stack = {.ss_sp = aside->kept, .ss_size = sizeof aside->kept};
  raw_call(SYS_sigaltstack, &stack, NULL);
  own_signal_inherit(aside->is_blocked);
  traps_in_child_aside();
}

static long clone_aside(long number, const long *words) {
  struct aside *aside = aside_take(number, words);
  long result = clone_into(number, words, begin_aside, (uintptr_t)aside);
  own_signal_forget((pid_t)result);
  aside_give_back(aside);
  return result;
}

static long clone_on_own_stack(long number, const long *words, uintptr_t stack,
                               const ucontext_t *context) {
  struct registers registers = registers_of(context);
  struct wanted wanted = wanted_by(number, words);
  const unsigned long kVfork = CLONE_VM | CLONE_VFORK;
  void (*on)(uintptr_t) = trap_calls;
  if ((wanted.flags & (CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SYSVSEM)) == 0)
    on = forget_in_child;
  if (copy_out((long)(stack - sizeof registers), &registers, sizeof registers) != 0) return -EFAULT;
  if ((wanted.flags & (kVfork | CLONE_SIGHAND)) == kVfork) return clone_aside(number, words);
  return clone_into(number, words, on, (uintptr_t)own_signal_is_blocked());
}

/* ---- on its parent's stack ---- */

/* The child of vfork() uses the stack below its parent's stack pointer, where the frames of this
 * handler are. So they are saved elsewhere until the child is gone, and the parent waits elsewhere.
 * The child leaves the handler by the frame of its signal, which is still there at that moment. A
 * signal that comes meanwhile would find the stack for signals unused, and its frame would
 * overwrite that one: all are blocked, until both leave by the frame, which has the mask. */
/* The call, whose child leaves the handler after on(word); the parent gets the result. */
long clone_out_of_handler(long number, const long *words, ucontext_t *context,
                          void (*on)(uintptr_t), uintptr_t word)
    __attribute__((visibility("hidden")));
__asm__(
    ".text\n.globl clone_out_of_handler\n.hidden clone_out_of_handler\n"
    ".type clone_out_of_handler, @function\n"
    "clone_out_of_handler:\n"
    "  push %rbx\n  push %r12\n  push %r13\n"
    "  mov %rdx, %rbx\n  mov %rcx, %r12\n  mov %r8, %r13\n"
    "  mov %rdi, %rax\n  mov %rsi, %r11\n"
    "  mov 0(%r11), %rdi\n  mov 8(%r11), %rsi\n  mov 16(%r11), %rdx\n"
    "  mov 24(%r11), %r10\n  mov 32(%r11), %r8\n  mov 40(%r11), %r9\n"
    "  syscall\n"
    "  test %rax, %rax\n  jz 1f\n  pop %r13\n  pop %r12\n  pop %rbx\n  ret\n"
    "1:\n  mov %r13, %rdi\n  call *%r12\n  mov %rbx, %rsp\n  mov $15, %eax\n  syscall\n"
    ".size clone_out_of_handler, . - clone_out_of_handler\n");

/* On the stack aside. */
static _Noreturn void wait_aside(struct aside *aside) {
  ucontext_t *context = aside->context;
  context->uc_mcontext.gregs[REG_RAX] = 0;
  memcpy(aside->kept, (const char *)aside->from, aside->bytes);
  long result = clone_out_of_handler(aside->number, aside->words, context, trap_calls,
                                     (uintptr_t)aside->is_blocked);
  own_signal_forget((pid_t)result);
  memcpy((char *)aside->from, aside->kept, aside->bytes);
  context->uc_mcontext.gregs[REG_RAX] = result;
  /* From here on another thread may take it. */
  __asm__ volatile("mov %0, %%rsp\n  movl $0, (%1)\n  mov $15, %%eax\n  syscall\n"
                   :
                   : "r"(context), "r"(aside)
                   : "memory");
  __builtin_unreachable();
}

static long clone_on_parents_stack(long number, const long *words, ucontext_t *context) {
  uintptr_t stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
  uintptr_t frame = (uintptr_t)context - sizeof(void *); /* what returns from the handler */
  const stack_t *signals = &context->uc_stack;
  uintptr_t first = (uintptr_t)signals->ss_sp;
  uintptr_t last = first + signals->ss_size;
  /* On a stack for signals, the frames of the child's own calls come to the same place. */
  uintptr_t end = frame >= first && frame < last && (stack < first || stack > last) ? last : stack;
  const uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, kMaskBytes);
  struct aside *aside = aside_take(number, words);
  aside->context = context;
  aside->from = frame;
  aside->bytes = end > frame && end - frame <= kKeptMax ? end - frame : 0;
  __asm__ volatile("mov %0, %%rsp\n  xor %%ebp, %%ebp\n  call *%1\n"
                   :
                   : "r"(aside->stack + kWaitBytes), "r"(wait_aside), "D"(aside)
                   : "memory");
  __builtin_unreachable();
}

long trapped_clone(long number, const long *words, ucontext_t *context) {
  struct wanted wanted = wanted_by(number, words);
  note(wanted.flags);
  if (wanted.stack != 0) return clone_on_own_stack(number, words, wanted.stack, context);
  if ((wanted.flags & CLONE_VFORK) == 0) return -EINVAL; /* both would use one stack */
  static const long kAsVfork[6] = {CLONE_VM | CLONE_VFORK | SIGCHLD};
  if (number == SYS_vfork) return clone_on_parents_stack(SYS_clone, kAsVfork, context);
  return clone_on_parents_stack(number, words, context);
}

#endif
