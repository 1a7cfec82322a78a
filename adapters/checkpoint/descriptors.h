/* What a process holds at its checkpoint, and which of that each worker gets as its own. */
#ifndef CGIBRIDGE_DESCRIPTORS_H
#define CGIBRIDGE_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { kOpenFilesMax = 64, kPollWatchesMax = 16 };

/* A regular file or directory that is open for reading at the checkpoint, a device without a memory
 * of its own, an eventfd, or an epoll instance that watches these. */
struct open_file {
  int fd;
  int same_as; /* an earlier one, of which this is a copy; 0: none */
  int flags;   /* F_GETFL */
  int close_on_exec;
  int is_event;
  int is_poll; /* what it watches is in state.watches */
  off_t offset;
  unsigned event_count;
};

/* What an epoll instance watches. */
struct poll_watch {
  int poll, fd;
  uint32_t events;
  uint64_t data;
};

/* stillness.c: what a process must not hold when it is copied (files, sockets, timers, children,
 * shared memory). Returns 0, or -1 with the reason. Fills state.files. */
int stillness_check(char *reason, size_t reason_bytes);
/* The same, except for descriptors and for timers that an interpreter may have made for itself.
 * NULL: it holds nothing of the kind. */
const char *stillness_of_process(void);
unsigned threads_of_process(void); /* 0: not known */

/* descriptors.c */
void descriptors_remember_start(void);
int descriptors_watch(char *reason, size_t reason_bytes);
/* numbers: kInheritedFdsMax bits. descriptors_look_at_new checks those that are not in known, as
 * descriptors_watch checks those opened since the start. */
void descriptors_list(unsigned char *numbers);
int descriptors_look_at_new(const unsigned char *known, char *reason, size_t reason_bytes);
void descriptors_close_at_exec(void); /* all that were opened since the start */
int descriptors_make_private(void);   /* in a worker: own offsets for state.files */
/* Done early instead of at the process's end, which does the same: closes all but the channel, and
 * has the kernel undo semaphore adjustments. -1: files are mapped, which only the end releases. */
int let_go_for_good(int channel);
/* For a process that lives on after its answer: puts the null device in place of what the request
 * opened and others can see, under the same numbers. What was open at the checkpoint stays. */
void descriptors_remember_checkpoint(void);
void descriptors_stand_in(void);
/* Whether a worker gets a new one; otherwise it opens the same file again. */
int descriptor_is_made_anew(const struct open_file *file);
/* Opens another one like it: a number, or < 0. With raw calls only. Not for one that is a copy. */
int descriptor_make(const struct open_file *file);
int descriptor_least_own(void);   /* from there up, if the limit allows: */
int descriptor_move_high(int fd); /* to a close-on-exec number out of the program's way, or -1 */

/* polls.c: reads an epoll instance's text below fdinfo into state.watches; -1: it cannot be
 * kept. */
int poll_take(int fd, const char *info);
int polls_can_be_made_again(void); /* asked when all descriptors have been checked */
int poll_make(const struct open_file *file);

#endif
