/* What C cannot say. */
#include "context.h"

#if defined(__x86_64__)

__asm__(
    ".text\n"
    ".globl context_save\n.hidden context_save\n.type context_save, @function\n"
    "context_save:\n"
    "  mov %rbx, 0(%rdi)\n  mov %rbp, 8(%rdi)\n  mov %r12, 16(%rdi)\n  mov %r13, 24(%rdi)\n"
    "  mov %r14, 32(%rdi)\n  mov %r15, 40(%rdi)\n"
    "  lea 8(%rsp), %rdx\n  mov %rdx, 48(%rdi)\n"
    "  mov (%rsp), %rdx\n  mov %rdx, 56(%rdi)\n"
    "  stmxcsr 64(%rdi)\n  fnstcw 72(%rdi)\n"
    "  xor %eax, %eax\n  ret\n"
    ".size context_save, . - context_save\n"

    ".globl context_resume\n.hidden context_resume\n.type context_resume, @function\n"
    "context_resume:\n"
    "  cld\n  fninit\n  fldcw 72(%rdi)\n  ldmxcsr 64(%rdi)\n"
    "  pxor %xmm0, %xmm0\n  pxor %xmm1, %xmm1\n  pxor %xmm2, %xmm2\n  pxor %xmm3, %xmm3\n"
    "  pxor %xmm4, %xmm4\n  pxor %xmm5, %xmm5\n  pxor %xmm6, %xmm6\n  pxor %xmm7, %xmm7\n"
    "  pxor %xmm8, %xmm8\n  pxor %xmm9, %xmm9\n  pxor %xmm10, %xmm10\n  pxor %xmm11, %xmm11\n"
    "  pxor %xmm12, %xmm12\n  pxor %xmm13, %xmm13\n  pxor %xmm14, %xmm14\n  pxor %xmm15, %xmm15\n"
    "  mov 0(%rdi), %rbx\n  mov 8(%rdi), %rbp\n  mov 16(%rdi), %r12\n  mov 24(%rdi), %r13\n"
    "  mov 32(%rdi), %r14\n  mov 40(%rdi), %r15\n  mov 48(%rdi), %rsp\n"
    "  xor %ecx, %ecx\n  xor %edx, %edx\n  xor %esi, %esi\n  xor %r8d, %r8d\n"
    "  xor %r9d, %r9d\n  xor %r10d, %r10d\n  xor %r11d, %r11d\n"
    "  mov $1, %eax\n  jmp *56(%rdi)\n"
    ".size context_resume, . - context_resume\n"

    ".globl context_call_on\n.hidden context_call_on\n.type context_call_on, @function\n"
    "context_call_on:\n"
    "  mov %rdi, %rsp\n  xor %ebp, %ebp\n  call *%rsi\n  ud2\n"
    ".size context_call_on, . - context_call_on\n");

#elif defined(__aarch64__)

__asm__(
    ".text\n"
    ".globl context_save\n.hidden context_save\n.type context_save, %function\n"
    "context_save:\n"
    "  stp x19, x20, [x0]\n  stp x21, x22, [x0, 16]\n  stp x23, x24, [x0, 32]\n"
    "  stp x25, x26, [x0, 48]\n  stp x27, x28, [x0, 64]\n  stp x29, x30, [x0, 80]\n"
    "  mov x2, sp\n  mrs x3, fpcr\n  stp x2, x3, [x0, 96]\n"
    "  stp d8, d9, [x0, 112]\n  stp d10, d11, [x0, 128]\n"
    "  stp d12, d13, [x0, 144]\n  stp d14, d15, [x0, 160]\n"
    "  mov w0, 0\n  ret\n"
    ".size context_save, . - context_save\n"

    ".globl context_resume\n.hidden context_resume\n.type context_resume, %function\n"
    "context_resume:\n"
    "  ldp x19, x20, [x0]\n  ldp x21, x22, [x0, 16]\n  ldp x23, x24, [x0, 32]\n"
    "  ldp x25, x26, [x0, 48]\n  ldp x27, x28, [x0, 64]\n  ldp x29, x30, [x0, 80]\n"
    "  ldp x2, x3, [x0, 96]\n  mov sp, x2\n  msr fpcr, x3\n  msr fpsr, xzr\n"
    "  ldp d8, d9, [x0, 112]\n  ldp d10, d11, [x0, 128]\n"
    "  ldp d12, d13, [x0, 144]\n  ldp d14, d15, [x0, 160]\n"
    "  mov w0, 1\n  ret\n"
    ".size context_resume, . - context_resume\n"

    ".globl context_call_on\n.hidden context_call_on\n.type context_call_on, %function\n"
    "context_call_on:\n"
    "  mov sp, x0\n  mov x29, 0\n  mov x30, 0\n  blr x1\n  brk 1\n"
    ".size context_call_on, . - context_call_on\n");

#endif
