/* A place in the program to return to, and a way to run on a stack of our own. */
#ifndef CGIBRIDGE_CONTEXT_H
#define CGIBRIDGE_CONTEXT_H

#include <stdint.h>

enum { kFirstStateBytes = 16 * 1024 };

/* What a called function must preserve: callee-saved registers, stack, return address, and the
 * floating-point modes. context_prepare() adds the rest of the processor's state. */
struct context {
  uint64_t words[24];
  /* x86-64: an area for XRSTOR that says that it holds nothing, so that every component named is
   * set to its initial state. The processor may read all of it, as far as its components reach (11
   * KiB with matrices). aarch64: modes. */
  _Alignas(64) unsigned char first_state[kFirstStateBytes];
};

/* Finds out what state the processor has; call it before context_save(). Returns NULL, or why a
 * context could not be resumed, for example because the processor guards return addresses. */
const char *context_prepare(struct context *context);

/* Like setjmp(): returns 0, and once more, with 1, for each context_resume(). The caller's frame
 * must be as it was then; restoring the stack's memory ensures that. */
int context_save(struct context *context) __attribute__((returns_twice));

/* Floating-point modes and protection keys are as at context_save(); no register, however wide,
 * keeps anything of the caller's. */
_Noreturn void context_resume(const struct context *context);

/* Calls function on another stack, whose highest address is top (16-byte aligned). It must not
 * return. */
_Noreturn void context_call_on(void *top, void (*function)(void));

#endif
