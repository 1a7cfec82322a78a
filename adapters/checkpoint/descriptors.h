/* What a process holds at its checkpoint, and of which of these each worker gets its own. */
#ifndef CGIBRIDGE_DESCRIPTORS_H
#define CGIBRIDGE_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { kOpenFilesMax = 64, kPollWatchesMax = 16, kPipeBytesMax = 64 };

/* FILE_NAMED: a regular file or directory that is open for reading at the checkpoint, or a device
 * without a memory of its own. The others are made anew in each worker: an eventfd, one end of a
 * pipe of which the process has both, a timerfd that does not run, a local socket whose other end
 * is closed, and an epoll instance that watches events, timers and pipes. */
enum file_kind { FILE_NAMED, FILE_EVENT, FILE_PIPE, FILE_TIMER, FILE_ENDED_SOCKET, FILE_POLL };

struct open_file {
  int fd;
  int same_as; /* an earlier one, of which this is a copy; 0: none */
  int flags;   /* F_GETFL */
  int close_on_exec;
  enum file_kind kind;
  off_t offset;
  unsigned event_count;
  int clock;                /* of a timer */
  ino_t pipe;               /* both ends have the same */
  int other_end;            /* of a pipe: place in state.files */
  int pipe_size;            /* of a reading end, like what follows */
  unsigned char pipe_bytes; /* that nobody has read yet */
  char pipe_content[kPipeBytesMax];
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

/* open_file.c: /proc/self/fd/N; there must be room for kFilePathBytes. Without libc, like the next
 * one. */
enum { kFilePathBytes = 40 };
void path_to_open_file(long fd, char *path);
/* Where this open file is, or what it is ("pipe:[7]"): its length, or -errno. */
long path_of_open_file(long fd, char *path, size_t bytes);

/* descriptors.c */
void descriptors_remember_start(void);
/* Calls visit for each open descriptor but folder, which is /proc/self/fd, until it returns other
 * than 0: that is returned, or -1 if they cannot be listed. */
int descriptors_visit(int folder, int (*visit)(int fd, void *context), void *context);
int descriptors_watch(char *reason, size_t reason_bytes);
/* numbers: kInheritedFdsMax bits. descriptors_look_at_new checks those that are not in known, as
 * descriptors_watch checks those opened since the start. */
void descriptors_list(unsigned char *numbers);
void descriptors_add(unsigned char *numbers, int fd); /* one that does not fit in is left out */
int descriptors_have(const unsigned char *numbers, int fd);
int descriptors_look_at_new(const unsigned char *known, char *reason, size_t reason_bytes);
void descriptors_close_at_exec(void); /* all that were opened since the start */
int descriptors_make_private(void);   /* in a worker: own offsets for state.files */
/* Done early instead of at the process's end, which does the same: closes all but the channel, has
 * the kernel undo semaphore adjustments, and runs no more handlers. -1: it is left to the process's
 * end, which alone releases mapped files, and stops other threads before closing theirs. */
int let_go_for_good(int channel);
/* For a process that lives on after its answer: puts the null device in place of what the request
 * opened and others can see, under the same numbers. What was open at the checkpoint stays. */
void descriptors_remember_checkpoint(void);
void descriptors_stand_in(void);
/* The same for 0, 1 and 2 of a process that waits for its next request as it is: as long as it has
 * the pipe of an answer, nobody knows whether a child will still write to it. */
void descriptors_give_streams_back(void);
/* Whether a worker gets a new one; otherwise it opens the same file again. */
int descriptor_is_made_anew(const struct open_file *file);
/* Makes another one under its number: 0 or < 0. With raw calls only. To be called in turns, for all
 * descriptors of turn 0 first: copies need their originals, and epoll instances what they watch. */
enum { kDescriptorTurns = 4 };
int descriptor_turn(const struct open_file *file);
int descriptor_make_anew(const struct open_file *file);
/* Moves fd to the file's number, with its flag for exec: 0 or < 0. Raw calls only. */
int descriptor_place(long fd, const struct open_file *file);
int descriptor_least_own(void);    /* from there up ours lie, if the limit allows */
int descriptor_move_high(int fd);  /* to a close-on-exec number out of the program's way, or -1 */
int descriptor_move_aside(int fd); /* the same without libc, for a request; or < 0 */

/* polls.c: reads an epoll instance's text below fdinfo into state.watches; -1: it watches too much.
 */
int poll_take(int fd, const char *info);
const char *polls_held(void); /* NULL, or why one cannot be made anew; asked after all others */
int poll_make(const struct open_file *file); /* its number, or < 0 */

/* sockets.c: why this socket cannot be made anew, or NULL; and a new one: its number, or < 0. */
const char *socket_take(int fd, struct open_file *file);
long socket_make(const struct open_file *file);

/* pipes.c: why this end of a pipe cannot be made anew, or NULL. Reads without taking anything out.
 */
const char *pipe_take(int fd, const struct stat *status, struct open_file *file);
/* Asked when all descriptors have been checked: finds the two ends of each pipe. Returns -1, or an
 * end whose other end is not found. */
int pipes_pair(void);
int pipe_make(const struct open_file *reading); /* both ends, under their numbers: 0 or < 0 */
/* What is in a pipe: its size, or -1 if it is more than kPipeBytesMax, or unknown. */
int pipe_peek(int fd, char *content);
/* Whether the zygote's 0, 1 and 2 were switched to non-blocking, by a stream that was made. */
void streams_remember(void);
/* "close-at-exec": 0, 1 and 2, as Node has all descriptors when it starts; "unblock/1",
 * "unblock/2": the same, if the zygote's was remembered so. 0 or -1. */
int streams_set(const char *how);
/* A letter for each of 0, 1, 2: n is the null device, p a pipe, o anything else. */
void streams_tell(char letters[3]);

#endif
