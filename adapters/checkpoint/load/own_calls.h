/* System calls that the program or a library of its own makes while constructors run, by an
 * instruction of its own: they pass none of the functions that are watched. The kernel hands them
 * back (PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11, x86-64), and they are judged by their numbers,
 * as those of syscall() are. Let pass are libc's, the loader's, the vDSO's and this library's own.
 *
 * It ends with the first that is noted, with the first that a signal's handler cannot make, and
 * wherever SIGSYS, by which the kernel does it, could be blocked or seen: where load_watch.h's
 * cycles_leave() is called, and by the two functions after it. Threads and children are not
 * watched. Not in programs with a sanitizer, which makes all of its calls that way. */
#ifndef CGIBRIDGE_OWN_CALLS_H
#define CGIBRIDGE_OWN_CALLS_H

void own_calls_watch(void);
void own_calls_leave(void);
/* Whether they are watched at the moment. */
int own_calls_are_watched(void);

#endif
