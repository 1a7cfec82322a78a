/* The system calls of a static executable, handed back by the kernel one by one; see executable.h.
 * A Go program that a loader links with libc (go/linked.c) has those of its own code handed back.
 *
 * The handler runs on the program's stack, with the program's own thread pointer. (Only in a Go
 * program, at whatever level, whose goroutines have small stacks, does it run on the stack for
 * signals; elsewhere that may be small, or gone, or another signal's handler may use it during a
 * call.) So it uses nothing
 * of libc that has thread-local memory: no errno, no stdio. Where that is needed, libc's own thread
 * block is put in place for a moment, with all signals blocked; where program and library share a
 * libc, it is in place, and only errno is kept. */
#ifndef CGIBRIDGE_STATIC_TRAPS_H
#define CGIBRIDGE_STATIC_TRAPS_H

#include <signal.h>
#include <ucontext.h>

#include "rewind/kernel_state.h"
#include "static/executable.h"

/* <linux/prctl.h>, <asm/siginfo.h>; newer than some headers. */
enum { kDispatch = 59, kDispatchOff = 0, kDispatchOn = 1, kByDispatch = 2 };

/* Whether this kernel can hand calls back. */
int traps_are_offered(void);
/* From here on, in the calling thread: every call that this library does not make itself, or only
 * those of the executable's own code. 0 or -1. libc is not to be used, except for its functions on
 * strings, until traps_end(). */
int traps_begin(void);
void traps_end(void);
/* The same in a thread or a child that the program starts. 0 or -1. */
int traps_in_child(void);
/* In a child whose stack for signals is this library's. */
int traps_in_child_aside(void);
/* What a thread tells the kernel, in these three words, to have its calls handed back. */
struct trap_range {
  uintptr_t start;
  size_t bytes;
  const char *selector;
};
void traps_describe(struct trap_range *range);
long traps_of_thread(int on); /* only whether calls are handed back; 0 or -errno */

/* Between the two, functions that need libc may be called. A handler of the program's would find
 * another thread's memory in place, so no signal is let in. */
struct visit {
  uintptr_t thread_block; /* of a static executable's libc */
  uint64_t mask;
  int error; /* errno, of a program that shares this libc */
};
struct visit libc_enter(void);
void libc_leave(const struct visit *visit);

/* What a call's words point to is read and written by the kernel, which accepts any address: 0, or
 * -1 and -EFAULT. */
int copy_in(void *to, long from, size_t bytes);
long copy_out(long to, const void *from, size_t bytes);

/* Makes the call, of which nothing is to be noted. */
long as_it_came(long number, const long *words);

/* enter.c: has the executable stop where it calls main(). 0 or -1. */
int static_executable_mark_main(void);
size_t count_of_strings(char **list); /* before its NULL */
/* enter.c: the calling thread's libc, and the change to another, in a static executable. Between
 * that and its caller's end no function that expects a thread block may be called. */
struct thread_of_libc thread_now(void);
void thread_becomes(const struct thread_of_libc *thread);

/* trapped_clones.c: makes a thread or a process by a call whose child continues in the program, not
 * in this handler: on a stack of its own, or, as vfork() does, on its parent's. Returns the
 * parent's result; or does not return, and the parent continues in the program, too. */
long trapped_clone(long number, const long *words, ucontext_t *context);
/* Whether its arguments can be read; else the kernel refuses it. */
int clone_is_understood(long number, const long *words);
/* Whether this clone is of that kind; else the child is a copy, and may return from the handler. */
int clone_shares_memory_or_has_stack(long number, const long *words);

/* trapped_signals.c: calls on signals; the answer, or kNotTaken. */
enum { kNotTaken = 1 << 30 };
long trapped_signal_call(long number, const long *words, ucontext_t *context);
/* SIGSYS as the program sees it: at its beginning; when one came that hands no call back; for a
 * program that is to be left alone, in the handler with this context. */
void own_signal_begin(void);
void own_signal_came(int number, siginfo_t *info, void *context);
int own_signal_restarts(void); /* whether a call that it interrupts goes on */
void own_signal_give_back(ucontext_t *context);
/* Whether the calling thread blocks it, as far as the program can see. A new thread says so if its
 * maker did, and so does a child, which has a copy of the memory; of one that is gone nothing is
 * kept (0 and less: none). */
int own_signal_is_blocked(void);
void own_signal_inherit(int is_blocked);
void own_signal_copied(int is_blocked);
void own_signal_forget(pid_t thread);
/* What the program sets for it by libc's functions: sigaction(), with either argument NULL. */
void own_signal_act(const struct signal_action *action, struct signal_action *old);

/* trapped_unmap.c: munmap(). Does not return if it unmaps the thread's stack. */
void trapped_munmap(const long *words, const ucontext_t *context);

/* trapped_paths.c: what the program finds as its own executable. The answer, or kNotTaken. */
long trapped_path(long number, const long *words);

#endif
