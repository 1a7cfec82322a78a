/* Threads at the end of a request: as at the end of a process, all others end with it. */
#ifndef CGIBRIDGE_THREADS_H
#define CGIBRIDGE_THREADS_H

#include "rewind/engine.h"

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
 * one system call. Returns 1 when this thread is alone in its memory, or 0 with a reason if not
 * within some 250 ms: what cannot be interrupted, or blocks every signal by the system call itself.
 * Nothing of the process's memory is written by an ended thread after that. */
int threads_end(struct engine *engine);

/* In a child: one that was forked while threads were being ended has the handler for that. */
void threads_end_forget(void);

#endif
