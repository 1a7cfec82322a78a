/* What is kept of the checkpoint's threads; see threads.h. */
#ifndef CGIBRIDGE_PARKED_THREADS_H
#define CGIBRIDGE_PARKED_THREADS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "static/traps.h"

enum { kParkedMax = 256, kThreadNameBytes = 16 };

/* Its first fields are read by assembly (threads_again.c). */
struct parked_thread {
  uintptr_t frame; /* a stack pointer from which rt_sigreturn() continues the thread */
  void *robust_list;
  size_t robust_list_bytes;
  void *restartable;       /* its struct rseq, or NULL */
  struct trap_range traps; /* of a static executable's thread; or zero */
  char name[kThreadNameBytes];
  uintptr_t block;  /* libc's thread block: the thread pointer */
  int *tid_address; /* where libc keeps its id, and the kernel writes 0 at its end */
  pid_t id;         /* at the checkpoint */
  pid_t id_again;   /* in this request; or 0 */
  struct {          /* what it waits in, by /proc/self/task/ID/syscall */
    long number;
    unsigned long arguments[6];
    uintptr_t stack, place;
  } wait;
  int is_parked; /* enum parking, of an attempt: threads_park.c */
  int differs;   /* has attributes of its own, with which it would not be made again */
};

/* Of this process; part of its memory like everything else. */
struct parked_threads {
  size_t count;
  /* The adapter said that all of them are its interpreter's. Where they wait they hold no lock, and
   * they begin a wait again that ended by its limit: one that has passed when a request comes does
   * no harm. */
  int are_interpreters;
  int are_again; /* they were made again */
  /* A request can begin without them; and this one has none yet: threads_missing.h. */
  int can_be_missing, are_missing;
  struct parked_thread list[kParkedMax];
};
extern struct parked_threads parked_threads;
struct parked_thread *parked_thread_of(pid_t id); /* NULL: none; threads_rest.c */

/* threads_rest.c. Writes why into reason; returns -1. */
int threads_refuse(char *reason, size_t reason_bytes, const char *why);
/* Reads a file of /proc/self/task/ID as a string; its length, or -1. */
long thread_read_file(pid_t id, const char *name, char *text, size_t text_bytes);
/* Reads what the thread with this id waits in into thread->wait; -1 if it runs. */
int thread_read_wait(struct parked_thread *thread, pid_t id);
/* Waits until all other threads rest, at most some 200 ms (an interpreter's: five seconds), and
 * fills parked_threads. 0, or -1 with the reason. */
int threads_await_rest(char *reason, size_t reason_bytes);

#endif
