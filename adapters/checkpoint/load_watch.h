/* What a program does on its way to the checkpoint is done once for all its visitors: a key that is
 * drawn there is everybody's, a time is as old as the zygote, what is printed is lost. So it is
 * watched, and only what is pure stands before the checkpoint. */
#ifndef CGIBRIDGE_LOAD_WATCH_H
#define CGIBRIDGE_LOAD_WATCH_H

#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum impurity {
  IMPURE_RANDOM,
  IMPURE_TIME,
  IMPURE_PID,
  IMPURE_INPUT,
  IMPURE_OUTPUT,
  IMPURE_CHILDREN,
  IMPURE_SOCKETS,
  IMPURE_FILES,
  IMPURITIES
};

enum { kFoundMax = 360 };

enum { kOpenNumbersMax = 1024, kFolderMax = 4096, kLocaleMax = 256 };

/* What a process is left with. */
struct load_left {
  char launched_in[kFolderMax];     /* the folder, or empty */
  mode_t mask_at_start, mask;       /* umask */
  long priority_at_start, priority; /* as the system call has it: 20 less the nice value */
  struct rlimit limits_at_start[RLIM_NLIMITS];
  char locale[kLocaleMax];
  unsigned char open[kOpenNumbersMax / 8];
};

struct load_watch {
  int is_on;
  unsigned accepted;     /* a bit for each impurity that the operator allows */
  char found[kFoundMax]; /* the first that was found, in words; or empty */
  char renewed[512];     /* files that may do it where they stand themselves, in lines */
  struct load_left left;
  int output;   /* what standard output is, while it is caught; else 0 */
  ino_t caught; /* the file that it was caught in; else 0 */
};

/* "time,random": what the operator allows; words that are not known are passed over. */
void load_watch_accept(const char *list, size_t bytes);
int load_watch_accepts(const char *kind);
/* From here on, and of what comes. renewed: files, in lines, that may do where they stand
 * themselves what their adapter has each request do anew. */
void load_watch_begin(const char *renewed);
/* From here on standard output is a file, so that it shows what is printed; until the end. */
void load_watch_catch_output(void);
void load_watch_end(void);
/* The program did it, by this function, called from there. Nothing outside of a watched zygote. */
void load_watch_note(enum impurity kind, const char *function, const void *caller);
/* load_place.c: ", at FILE line N" of the program's own; or 0, if its language does not know. */
int load_place(char *place, size_t bytes);
/* The same, by syscall(). */
void load_watch_note_number(long number, const long *words, const void *caller);
/* What was found, or "". Looks at what was printed, too. */
const char *load_watch_found(void);
/* load_left.c: what was loaded since the watch began left in the process for good, in words, or "":
 * a library that is loaded ahead leaves it to all who do not load it, too. */
void load_left_remember_start(void);
void load_left_begin(void);
const char *load_left(void);
/* load_left.c: the process as it was at its start, as far as exec does not see to it: the adapter
 * starts over without what was not pure. */
void start_over_prepare(void);
int start_over(void); /* and does so, with the same words and libc's environment; or -1 */
/* Whether a descriptor is a copy of standard output, made while that was caught. */
int load_watch_is_output(const struct stat *status);
/* Whether a file of that name gives random numbers. */
int load_watch_is_random(const char *path);

#endif
