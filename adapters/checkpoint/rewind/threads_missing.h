/* Threads of the checkpoint that a request does without, until it could notice that they are
 * missing.
 *
 * All of them wait for something that only this process does, by a function of libc's that is
 * interposed, and to make them again costs more than many a request (Node's). They are made before
 * the first call that may wake one, look at one, or leave to others what threads there are
 * (calls/waking_list.h); and at the latest when the request stops being clean (calls/clean.h): from
 * then on not every call is noticed. A thread that is made after its wake-up finds that what it
 * waits for has changed, as one that was slow to wait would.
 *
 * Each function here returns at once if no thread is missing. */
#ifndef CGIBRIDGE_THREADS_MISSING_H
#define CGIBRIDGE_THREADS_MISSING_H

#include <pthread.h>
#include <stddef.h>

/* In the zygote, when all are parked: sets parked_threads.can_be_missing. They can if each waits
 * for one of libc's condition variables, semaphores or read-write locks, which is this process's
 * own, or in an epoll instance for eventfds and pipes; and if no signal that the first thread
 * blocks would reach another. */
void threads_judge(void);
/* In the zygote: this descriptor has a stream of libc's, whose writes nobody notices. */
void threads_note_stream(long fd);

/* Makes them. */
void threads_needed(void);
/* An object of so many bytes is about to be released: if one waits inside it. */
void threads_see_release(const void *object, size_t bytes);
/* Something is about to be done to the file of this descriptor: if one waits for it. */
void threads_see_descriptor(long fd);
/* A thread is about to be named. */
void threads_see_thread(pthread_t thread);
/* A file is about to be opened, or looked at: if it shows which threads there are. */
void threads_see_path(const char *path);
/* A system call is about to be made by its number. */
void threads_see_number(long number, const long *words);

#endif
