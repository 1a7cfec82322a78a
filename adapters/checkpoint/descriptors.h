/* What a process holds at its checkpoint, and what of it each worker gets of its own. */
#ifndef CGIBRIDGE_DESCRIPTORS_H
#define CGIBRIDGE_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { kOpenFilesMax = 64, kPollWatchesMax = 16 };

/* A regular file or directory that stands open for reading at the checkpoint, a device without a
 * memory of its own, an eventfd, or an epoll instance that looks at such. */
struct open_file {
  int fd;
  int same_as; /* an earlier one, of which it is a copy; 0: none */
  int flags;   /* F_GETFL */
  int close_on_exec;
  int is_event;
  int is_poll; /* what it looks at is in state.watches */
  off_t offset;
  unsigned event_count;
};

/* What an epoll instance looks at. */
struct poll_watch {
  int poll, fd;
  uint32_t events;
  uint64_t data;
};

/* stillness.c: what a process must not hold when it is copied (files, sockets, timers, children,
 * shared memory). Returns 0, or -1 with the reason. Fills state.files. */
int stillness_check(char *reason, size_t reason_bytes);
/* The same, but for descriptors, and for timers that an interpreter may have made for itself. NULL:
 * it holds nothing. */
const char *stillness_of_process(void);
unsigned threads_of_process(void); /* 0: not known */

/* descriptors.c */
void descriptors_remember_start(void);
int descriptors_watch(char *reason, size_t reason_bytes);
/* numbers: kInheritedFdsMax bits. The second looks at those that are not among them, as the first
 * of all does at those that came since the start. */
void descriptors_list(unsigned char *numbers);
int descriptors_look_at_new(const unsigned char *known, char *reason, size_t reason_bytes);
void descriptors_close_at_exec(void); /* all that came since the start */
int descriptors_make_private(void);   /* in a worker: own offsets for state.files */
/* Instead of the process's end, which does the same later: closes all but the channel, and has the
 * kernel undo what is to be undone. -1: files are mapped, which only the end lets go of. */
int let_go_for_good(int channel);
/* For a process that lives on behind its answer: the null device in place of what the request
 * opened and others see, under the same numbers. What stood at the checkpoint stays. */
void descriptors_remember_checkpoint(void);
void descriptors_stand_in(void);
/* Whether a worker gets a new one; else it opens the same once more. */
int descriptor_is_made_anew(const struct open_file *file);
/* Another that is the same: a number, or < 0. With raw calls only. Not for one that is a copy. */
int descriptor_make(const struct open_file *file);
int descriptor_least_own(void);   /* from there on, as far as the limit lets: */
int descriptor_move_high(int fd); /* to a close-on-exec number out of the program's way, or -1 */

/* polls.c: of an epoll instance's text below fdinfo: fills state.watches; or -1: it cannot be. */
int poll_take(int fd, const char *info);
int polls_can_be_made_again(void); /* asked when all descriptors were looked at */
int poll_make(const struct open_file *file);

#endif
