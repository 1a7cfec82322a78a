/* The end of an interpreter whose own end takes long after the program can do nothing more. */
#ifndef CGIBRIDGE_CHECKPOINT_ENDING_H
#define CGIBRIDGE_CHECKPOINT_ENDING_H

/* The answer is complete, with this exit code. 0: the main thread's next wait for events comes
 * after it, and ends the request. -1: a library that was loaded since the start may still write;
 * then the interpreter ends by itself, as far as ending_leave(). */
int ending_expect(int exit_code);

/* Called before something of the checkpoint is removed that cannot be put back. If it is the main
 * thread of a worker that rewinds, in the interpreter's own end, the process exits here: what was
 * loaded later has ended by now, except for its exit handlers and destructors. Else returns.
 */
void ending_leave(void);

/* Whether that end is on its way: the interpreter frees what it has, and uses none of it again. */
int ending_frees_all(void);

/* How many shared objects were loaded since the process began. */
unsigned long long ending_count_loads(void);

#endif
