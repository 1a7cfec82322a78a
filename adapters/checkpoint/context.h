/* A place in the program to come back to, and a way onto a stack of our own. */
#ifndef CGIBRIDGE_CONTEXT_H
#define CGIBRIDGE_CONTEXT_H

#include <stdint.h>

/* What a called function must preserve: callee-saved registers, stack, return address, and the
 * floating-point modes. With it what the processor has besides, by context_prepare(). */
struct context {
  uint64_t words[24];
  /* For XRSTOR, which puts all that it names into its first state: an area that says that it holds
   * nothing. */
  _Alignas(64) unsigned char first_state[576];
};

/* Asks the processor what it has; before context_save(). 0, or -1: it guards where functions return
 * to, and a context could not be resumed. */
int context_prepare(struct context *context);

/* Like setjmp(): returns 0, and once more, with 1, for each context_resume(). The caller's frame
 * must be as it was then, which is what restoring the stack's memory is for. */
int context_save(struct context *context) __attribute__((returns_twice));

/* Floating-point modes and protection keys are as at context_save(); nothing of the caller's is
 * left in a register, however wide. */
_Noreturn void context_resume(const struct context *context);

/* Calls function on another stack, whose highest address is top (16-byte aligned). It must not
 * return. */
_Noreturn void context_call_on(void *top, void (*function)(void));

#endif
