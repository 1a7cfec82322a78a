/* A thread that unmaps the stack it runs on, as musl's last step of a detached thread does. Then
 * there is no place for the handler's frame, nor for that of a further call: the call is made on a
 * stack of this library's, and the thread goes on without a frame, and makes its calls itself. */
#include <stddef.h>
#include <string.h>

#include "calls/calls_by_number.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

#if defined(__x86_64__)

enum { kMaskBytes = 8, kStackBytes = 4096 };

/* One thread at a time; the first words are read by assembly. */
static struct way_out {
  int taken;
  greg_t rbx, rbp, r12, r13, r14, r15, rdi, rsi, rdx, r10, r8, r9, rsp, rip;
  long start, bytes;
  uint64_t mask;
  _Alignas(16) char stack[kStackBytes];
} way_out;
_Static_assert(offsetof(struct way_out, rip) == 112, "as the assembly below has it");

static void way_out_take(void) {
  while (__atomic_exchange_n(&way_out.taken, 1, __ATOMIC_SEQ_CST) != 0) {
    raw_call(SYS_sched_yield);
  }
}

/* rcx and r11 are the call's. */
static _Noreturn void go_on(void) {
  __asm__ volatile(
      "mov 8(%%rcx), %%rbx\n  mov 16(%%rcx), %%rbp\n  mov 24(%%rcx), %%r12\n"
      "mov 32(%%rcx), %%r13\n  mov 40(%%rcx), %%r14\n  mov 48(%%rcx), %%r15\n"
      "mov 56(%%rcx), %%rdi\n  mov 64(%%rcx), %%rsi\n  mov 72(%%rcx), %%rdx\n"
      "mov 80(%%rcx), %%r10\n  mov 88(%%rcx), %%r8\n  mov 96(%%rcx), %%r9\n"
      "mov 104(%%rcx), %%rsp\n  mov 112(%%rcx), %%r11\n  xor %%eax, %%eax\n"
      "movl $0, (%%rcx)\n  jmp *%%r11\n"
      :
      : "c"(&way_out)
      : "memory");
  __builtin_unreachable();
}

static _Noreturn void unmap(void) {
  raw_call(SYS_munmap, way_out.start, way_out.bytes);
  traps_of_thread(0);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &way_out.mask, NULL, kMaskBytes);
  go_on();
}

/* "xor %rdi, %rdi; mov $60, %eax; syscall": the end of the thread. */
static int is_followed_by_exit(greg_t place) {
  static const unsigned char kExit[] = {0x48, 0x31, 0xff, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05};
  unsigned char code[sizeof kExit];
  return copy_in(code, place, sizeof code) == 0 && memcmp(code, kExit, sizeof code) == 0;
}

void trapped_munmap(const long *words, const ucontext_t *context) {
  const greg_t *of = context->uc_mcontext.gregs;
  uintptr_t start = (uintptr_t)words[0], bytes = (uintptr_t)words[1];
  if (start % kPageSize != 0 || (uintptr_t)of[REG_RSP] - start >= bytes) return;
  const uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, kMaskBytes);
  call_note_number(SYS_munmap, words);
  if (!is_followed_by_exit(of[REG_RIP])) call_doubt(RETIRED_CALL, "munmap of its own stack");
  own_signal_forget((pid_t)raw_call(SYS_gettid));
  way_out_take();
  way_out.rbx = of[REG_RBX], way_out.rbp = of[REG_RBP], way_out.r12 = of[REG_R12];
  way_out.r13 = of[REG_R13], way_out.r14 = of[REG_R14], way_out.r15 = of[REG_R15];
  way_out.rdi = of[REG_RDI], way_out.rsi = of[REG_RSI], way_out.rdx = of[REG_RDX];
  way_out.r10 = of[REG_R10], way_out.r8 = of[REG_R8], way_out.r9 = of[REG_R9];
  way_out.rsp = of[REG_RSP], way_out.rip = of[REG_RIP];
  way_out.start = words[0], way_out.bytes = words[1];
  memcpy(&way_out.mask, &context->uc_sigmask, sizeof way_out.mask);
  context_call_on(way_out.stack + kStackBytes, unmap);
}

#endif
