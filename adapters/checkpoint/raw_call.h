/* System calls without libc: no errno, so no thread-local memory is touched while the program's
 * memory is being put back. Each returns what the kernel returns: a result, or -errno. */
#ifndef CGIBRIDGE_RAW_CALL_H
#define CGIBRIDGE_RAW_CALL_H

#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long raw_call6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

static inline long raw_call6(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}

#elif defined(__riscv)

static inline long raw_call6(long number, long a, long b, long c, long d, long e, long f) {
  register long a7 __asm__("a7") = number;
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  register long a3 __asm__("a3") = d;
  register long a4 __asm__("a4") = e;
  register long a5 __asm__("a5") = f;
  __asm__ volatile("ecall"
                   : "+r"(a0)
                   : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                   : "memory");
  return a0;
}

#elif defined(__arm__)

/* In Thumb code the number's register is the frame pointer, so the compiler does not give it away.
 */
static inline long raw_call6(long number, long a, long b, long c, long d, long e, long f) {
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  register long r3 __asm__("r3") = d;
  register long r4 __asm__("r4") = e;
  register long r5 __asm__("r5") = f;
  long kept;
  __asm__ volatile("mov %1, r7\n\tmov r7, %2\n\tsvc 0\n\tmov r7, %1"
                   : "+r"(r0), "=&r"(kept)
                   : "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                   : "memory");
  return r0;
}

#else
#error "the system call instruction is not known for this machine"
#endif

#define RAW_NAME(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define RAW_PICK(...) RAW_NAME(__VA_ARGS__, RAW7, RAW6, RAW5, RAW4, RAW3, RAW2, RAW1, )
#define RAW1(call, n) call(n, 0, 0, 0, 0, 0, 0)
#define RAW2(call, n, a) call(n, (long)(a), 0, 0, 0, 0, 0)
#define RAW3(call, n, a, b) call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define RAW4(call, n, a, b, c) call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RAW5(call, n, a, b, c, d) call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RAW6(call, n, a, b, c, d, e) \
  call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define RAW7(call, n, a, b, c, d, e, f) \
  call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* raw_call(SYS_x, up to six arguments): pointers and integers alike. */
#define raw_call(...) RAW_PICK(__VA_ARGS__)(raw_call6, __VA_ARGS__)

/* Ends this process here and now, unlike the program's own _exit(): that one is ours (see
 * rare_calls.c), and counts as the end of a request, after which a worker stays. */
static inline _Noreturn void give_up(int exit_code) {
  for (;;) raw_call(SYS_exit_group, exit_code);
}

#endif
