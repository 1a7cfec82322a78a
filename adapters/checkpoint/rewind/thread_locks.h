/* Locks that a parked thread holds. */
#ifndef CGIBRIDGE_THREAD_LOCKS_H
#define CGIBRIDGE_THREAD_LOCKS_H

/* A thread that is made again has another id, by which it could not open a lock that it took under
 * its old one: a mutex of any kind, or a read-write lock held for writing. All of the process's
 * writable memory is searched for one that a thread of parked_threads holds, or the first thread,
 * whose id differs in each copy: of that one's, the mutexes that ask for their owner.
 * NULL, or what was found, or why the memory cannot be searched. */
const char *lock_of_parked_thread(void);

#endif
