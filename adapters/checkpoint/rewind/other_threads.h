/* The other threads of this process, whatever is to be done to them. Without malloc, and only by
 * raw calls, because any of libc's locks may be held. */
#ifndef CGIBRIDGE_OTHER_THREADS_H
#define CGIBRIDGE_OTHER_THREADS_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "rewind/kernel_state.h"

/* libc changes the user of all threads by this signal, lets no program block it, and puts its
 * handler back with the first thread that a program creates. */
enum { kThreadSignal = 33, kRestartableBytes = 32 };

/* Calls visit for each of them, by id; returns how many there are, or -1. */
typedef void thread_visit(pid_t thread, void *context);
long threads_visit(thread_visit *visit, void *context);

/* Handles kThreadSignal in each of them, with all signals blocked, on the stack in use: the one for
 * signals may be too small, or gone. (Only Go makes sure that it always has one, because goroutines
 * have small stacks.) replaced: what was there before. 0 or -1. */
typedef void thread_handler(int number, siginfo_t *info, void *frame);
int threads_handle(thread_handler *handler, struct signal_action *replaced);

#if defined(__x86_64__)
/* The kernel insists on a restorer, and does not return from a handler without it. */
enum { kWithRestorer = 0x04000000 };
void threads_return(void) __attribute__((visibility("hidden")));
#endif

void thread_pause(long nanoseconds); /* less than a second */

/* The struct rseq of the thread with this block (its thread pointer), kRestartableBytes long; NULL:
 * libc has none. */
char *thread_restartable(void *block);

#endif
