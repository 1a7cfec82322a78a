/* Java's launcher, which starts the virtual machine in a thread of its own. A checkpoint is in the
 * first thread; so that one runs it, on a stack of the size that the other would have had. */
#ifndef CGIBRIDGE_JAVA_LAUNCHER_H
#define CGIBRIDGE_JAVA_LAUNCHER_H

#include <pthread.h>
#include <stddef.h>

/* pthread_create() was called from there. If that is the launcher, at a checkpoint deeper than
 * linked, and the adapter has not spoken yet: runs the function to its end, and returns 1; result
 * is then what it returned. Else 0, also if there is no memory for the stack. */
int java_launcher_runs(const void *caller, const pthread_attr_t *attributes, void *(*run)(void *),
                       void *argument, void **result);
/* The stack that the first thread is on meanwhile: 1, or 0: its own. */
int java_launcher_stack(void **start, size_t *bytes);

#endif
