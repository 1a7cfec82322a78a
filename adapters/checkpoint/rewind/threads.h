/* Threads: those of the checkpoint, and those of a request.
 *
 * A zygote has one thread, so that it can be copied, compared and put back. Others that the program
 * has at its checkpoint are parked in a signal's handler where they wait, so that all of their
 * registers are in a frame on their own stack, which is part of the memory; then they end. What is
 * left of one is memory and a line in a table. A request begins by making them again: clone() with
 * the same thread block, and a return from that frame. At a request's end all of them end. */
#ifndef CGIBRIDGE_THREADS_H
#define CGIBRIDGE_THREADS_H

#include "rewind/engine.h"

/* threads_park.c, in the zygote: parks every other thread, which takes at most some 300 ms, or
 * five seconds if they are its interpreter's. Returns
 * 0, also if there is none; or -1 with the reason, and then all threads run as before: one does not
 * rest (it computes, or waits in a call that cannot be made again, or for a limited time), holds a
 * lock under its id, has attributes of its own, or there are too many.
 * Called with all signals blocked, after the fork handlers' prepare. */
int threads_park(char *reason, size_t reason_bytes);
/* After threads_park(): they end (0; or -1 if one does not within a second), or run on. */
int threads_end_parked(void);
void threads_let_run(void);
/* threads_rest.c. Whether threads could be parked now: 0, or -1 with the reason. Stops nothing. */
int threads_rest(char *reason, size_t reason_bytes);

/* threads_again.c, in a process with a request: makes the parked threads again; if the kernel
 * refuses one, the process ends, and with it the request. Does nothing if there was none, or if
 * they were made already. */
void threads_make_again(void);
/* The same at the beginning of a request, unless it is noticed when one is needed: in a Go program
 * each call is seen (go/threads.c); for others see threads_missing.h. */
void threads_begin_request(void);

/* Which thread called exit() or _exit(). The first is the one that the process began with, in which
 * each request starts. */
enum leaver { LEAVER_FIRST, LEAVER_OTHER, LEAVER_CHILD };
enum leaver thread_that_leaves(void);

/* rewind.c: the program reached its end, in this thread: the process rests, or exits for real. */
_Noreturn void rewind_end(int exit_code, enum leaver leaver);

/* Called with all signals blocked by a thread that has reached the end. Returns in the one thread
 * that is to do the rest; any other stays here until it is ended. Where another thread than the
 * first leaves, the first takes over if it can: it drops what it does, and calls end on the
 * engine's stack. */
void threads_claim_end(enum leaver leaver, int exit_code, void (*end)(void));

/* Ends every thread but this one, which must be the first; a program that never had another pays
 * one system call. Returns 1 when this thread is alone in its memory, or 0 with a reason if that
 * takes more than some 250 ms: a thread cannot be interrupted, or blocks every signal by the system
 * call itself. Nothing of the process's memory is written by an ended thread after that. */
int threads_end(struct engine *engine);

/* Whether no thread but this one is left of all that the request or the checkpoint had, or in a
 * moment will be: one that was joined may not be quite gone. Ends none. */
int threads_have_ended(void);

/* In a child: if it was forked while threads were being ended, it has the handler for that. */
void threads_end_forget(void);

#endif
