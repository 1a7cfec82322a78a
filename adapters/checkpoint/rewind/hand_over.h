/* A worker that is about to execute another program in the middle of its request: the request is
 * handed to a warm worker of that program instead. The process waits until that one has answered,
 * and is then put back as after any request.
 *
 * Done only where nobody can tell the difference from a process that really executes: all that
 * execve(2) keeps is still as it was at the checkpoint, or is passed on: descriptors (inherited.h),
 * the current folder, and which signals are ignored, with which the other worker was started.
 * Whatever else the process has done to itself, it executes the file as it would without the
 * bridge. What does differ: the process id, and the time and memory that the process has used so
 * far. */
#ifndef CGIBRIDGE_HAND_OVER_H
#define CGIBRIDGE_HAND_OVER_H

#include <stdint.h>

/* Whether this is the program of a request, in a worker, and not a child of it. */
int hand_over_is_possible(void);
/* path: the file, as given to execve(). Returns only if the process has to execute it really; then
 * nothing has changed, except that descriptors which are closed at exec may be closed. errno is
 * kept. */
void hand_over(const char *path, char *const argv[], char *const envp[]);
/* The same if all signals are blocked already: mask has those that the program blocks. */
void hand_over_blocked(const char *path, char *const argv[], char *const envp[], uint64_t mask);
/* exec.c: the same for a call by its number, if it is one that executes. */
void hand_over_by_number(long number, const long *words);
/* Such a call before the checkpoint: 1, and its result. */
int exec_by_number(long number, const long *words, const void *caller, long *result);
/* The same for one that was handed back (static/traps.h), within libc_enter(). */
void hand_over_trapped(long number, const long *words, uint64_t mask);

/* worker.c: the end of the request, and of a worker that is not put back. */
_Noreturn void worker_handed_over(void);

#endif
