/* fork() in two halves, for a child whose parent is the bridge, not this process. */
#ifndef CGIBRIDGE_FORK_H
#define CGIBRIDGE_FORK_H

#include <stddef.h>
#include <sys/types.h>

/* clone_worker.c: fork() whose child belongs to the bridge. Returns 0 in the child, its pid in the
 * parent, or -1 with errno; runs the fork handlers. */
pid_t clone_worker(void);
/* The same without the fork handlers; to be called with all signals blocked. */
pid_t clone_bare(void);
int *clone_tid_address(void); /* where libc keeps this thread's id, or NULL */
void clone_robust_list(void **head, size_t *bytes);
/* Of a thread of this process. The kernel tells those who wait for a robust mutex that its owner is
 * gone only when a process or a thread ends, not when a request does. */
int clone_robust_list_has_mutex(const void *head);
void clone_restore_robust_list(void *head, size_t bytes);

/* children.c: a child that the program forks must not keep the channel, whose end the bridge takes
 * for the end of the process, nor anything else that this library has open. Does nothing in the
 * process itself. */
void child_forget(void);
/* syscall(2) for one of the numbers that make a process: its result, as the kernel returns it. */
int child_by_number(long number);
long child_make_by_number(long number, const long *words);
/* Whether it is a copy of this process, which goes on where the call returns. */
int child_is_plain_copy(long number, const long *words);
/* Notes what another kind of child shares, whose call the program makes itself. */
void child_note_other(long number, const long *words);

/* fork_handlers.c: the program's pthread_atfork() handlers, in their order. */
void fork_handlers_prepare(void);
void fork_handlers_parent(void);
void fork_handlers_child(void);
/* Handlers that are registered while this is on, and are for the child only, are a pool's, which
 * begins anew in a child. A pool that is carried over with its threads need not in a copy. */
void fork_handlers_leave_out_pools(int on);
/* Makes libc's fork() call handler in the child; our own clone does not. */
void fork_handlers_add_own(void (*handler)(void));

#endif
