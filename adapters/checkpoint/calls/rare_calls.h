/* Calls that the library interposes, and what it notes about them: what their files share. */
#ifndef CGIBRIDGE_RARE_CALLS_H
#define CGIBRIDGE_RARE_CALLS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "message/wire.h"

/* What rare calls of the program may have changed. */
enum touched {
  TOUCHED_LIMITS = 1 << 0,
  TOUCHED_SCHEDULE = 1 << 1,
  TOUCHED_PRCTL = 1 << 2,
  TOUCHED_MEMORY_LOCKS = 1 << 3,
  TOUCHED_PAGES = 1 << 4,      /* page contents were dropped: what may be gone is compared */
  TOUCHED_MAPPINGS = 1 << 5,   /* the snapshot's memory was protected or remapped: likewise */
  TOUCHED_THREADS = 1 << 6,    /* a thread was started: libc maps memory for it unseen */
  TOUCHED_FILES = 1 << 7,      /* a file or shared memory was mapped, which others can see */
  TOUCHED_SEMAPHORES = 1 << 8, /* semaphore adjustments that the kernel is to undo */
  TOUCHED_BY_OTHERS = 1 << 9,  /* there was a child, which may have changed its parent */
  TOUCHED_RESERVED = 1 << 10, /* reserved room was committed, or advised on: all of it is emptied */
  TOUCHED_ASKED = 1 << 11,    /* what the kernel is asked about after an unclean request */
  TOUCHED_STREAMS = 1 << 12,  /* 0, 1 or 2 is another file, or their pipes have other flags, locks,
                               * owners or holders */
  TOUCHED_LINGERS = 1 << 13,  /* to close a socket may wait for its peer; a process that ends does
                               * not */
  TOUCHED_FILE_PAGES = 1 << 14, /* TOUCHED_PAGES, and some of them a file's: no mark shows which */
  TOUCHED_SIGSYS = 1 << 15      /* SIGSYS may be blocked, handled or seen, by a child too: no call
                                 * is handed back any more */
};

/* Contents may have been dropped anywhere. */
enum { kTouchedAllPages = TOUCHED_PAGES | TOUCHED_FILE_PAGES };
/* By somebody whose calls were not noted. */
enum {
  kTouchedUnseen = TOUCHED_LIMITS | TOUCHED_SCHEDULE | TOUCHED_PRCTL | TOUCHED_MEMORY_LOCKS |
                   kTouchedAllPages | TOUCHED_MAPPINGS | TOUCHED_THREADS | TOUCHED_FILES |
                   TOUCHED_BY_OTHERS
};
/* These do not make a request unclean: see clean.h. */
enum {
  kTouchedElse =
      kTouchedAllPages | TOUCHED_MAPPINGS | TOUCHED_FILES | TOUCHED_RESERVED | TOUCHED_STREAMS
};

/* The kernel's answer, in the form that libc returns. */
static inline long call_result(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

/* rare_calls.c: kind and name of the first call that cannot be undone. */
void call_touch(unsigned what); /* enum touched */
void call_doubt(enum retirement kind, const char *call);
/* Newer than some kernels' headers. */
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#define PR_GET_MEMORY_MERGE 68
#endif

/* prctl(), with its five arguments; what it may change. */
long prctl_watched(const long *words);
void note_prctl(const long *words);

/* memory_calls.c */
void note_madvise(const void *start, size_t bytes, int advice);
void note_process_madvise(int advice); /* on itself or another process: not looked at */
long madvise_watched(void *start, size_t bytes, int advice);

/* passed_looks.c: a file system whose files are processes, their groups, their labels. */
struct statfs;
int is_of_processes(const struct statfs *status);

/* passed_looks.c: whether arch_prctl() leaves nothing. */
int arch_prctl_only_asks(long code);

/* mapping_calls.c */
enum stood {
  STOOD_SAVED = 1 << 0,
  STOOD_RESERVED = 1 << 1,
  STOOD_CONSTANT = 1 << 2,
  STOOD_FILE = 1 << 3 /* what was saved is a file's mapping */
};
/* What the range held at the checkpoint: memory in the snapshot, reserved room, or constants, which
 * cannot be put back. 0: nothing was there. */
unsigned memory_stood(const void *start, size_t bytes);
/* Whether an interpreter that is at its end frees memory here, all of which will be put back: it
 * need not be taken away. */
int memory_stays(const void *start, size_t bytes);
void note_mmap(const void *start, size_t bytes, int prot, int flags, int fd);
void note_munmap(const void *start, size_t bytes);
void note_mremap(const void *old, size_t old_bytes, size_t bytes, int flags, const void *fixed);
void note_mprotect(const void *start, size_t bytes, int prot);
/* Advice that the kernel keeps with a mapping and forgets with it: reserved room is mapped anew. */
void note_advice(const void *start, size_t bytes, enum retirement kind, const char *call);
void note_shmat(int flags);
void note_locale(void); /* libc may map other files for a locale */

/* Whether an address that the program has given to libc or the kernel can be read; the kernel
 * answers EFAULT if not, which programs use as a test. Asks the kernel only if it is on another
 * page than the last one that could be read. */
int may_be_memory(const void *address);
extern uintptr_t readable_page; /* that one's number; 0 once memory may have been taken away */

/* passed_looks.c: some of the kernel's files change a process when they are written to. */
void note_open(int directory, const char *path, int flags);
/* Before the checkpoint: what is drawn from, and what is changed. */
void note_open_of_load(const char *function, int directory, const char *path, int flags,
                       const void *caller);

void note_socket(long level, long option); /* setsockopt() */

/* signal_calls.c */
void note_signal(long number);

/* stream_calls.c */
/* This descriptor gets another file, or none. */
void note_number(long fd);
/* What is changed belongs to the open file, or to the file: seen through other numbers as well. */
void note_file_of(long fd);
void note_fcntl(long fd, long command, long argument);
void note_ioctl(long fd, unsigned request);

#endif
