/* What a program does before the checkpoint is done once for all its visitors: a key that is drawn
 * there is the same for everybody, a time is as old as the zygote, what is printed is lost. So it
 * is watched, and only what is pure is kept before the checkpoint. */
#ifndef CGIBRIDGE_LOAD_WATCH_H
#define CGIBRIDGE_LOAD_WATCH_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "load/answers.h"

enum impurity {
  IMPURE_RANDOM,
  IMPURE_TIME,
  IMPURE_PID,
  IMPURE_INPUT,
  IMPURE_OUTPUT,
  IMPURE_CHILDREN,
  IMPURE_SOCKETS,
  IMPURE_FILES,
  IMPURE_SEED, /* no operator can allow this one and the next ones */
  IMPURE_OTHERS,
  IMPURE_UNSEEN,
  IMPURE_RESTLESS,
  IMPURITIES
};

enum { kFoundMax = 360 };

enum { kOpenNumbersMax = 1024, kFolderMax = 4096, kLocaleMax = 256 };

/* What a load leaves in a process. */
struct load_left {
  char launched_in[kFolderMax];     /* the folder, or empty */
  mode_t mask_at_start, mask;       /* umask */
  long priority_at_start, priority; /* as the system call returns it: 20 minus the nice value */
  struct rlimit limits_at_start[RLIM_NLIMITS];
  char locale[kLocaleMax];
  unsigned char open[kOpenNumbersMax / 8];
  int has_interpreters_thread; /* was started, and may have ended */
  unsigned touched;            /* enum touched, before this load */
};

/* A standard stream that is a pipe until the checkpoint. */
struct caught_stream {
  int kept;    /* the original stream; 0: it is in place */
  ino_t inode; /* of the pipe */
};

struct load_watch {
  int is_on;
  unsigned accepted;     /* a bit for each impurity that the operator allows */
  char found[kFoundMax]; /* the first that was found, in words; or empty */
  char renewed[2048];    /* "FILE" or "FILE line N", one a line, whose own code may do it */
  struct load_left left;
  int interpreter_started_thread;            /* at any time before the checkpoint */
  int threads_stay;                          /* its adapter does not make it forget them */
  struct caught_stream input, output, error; /* error stays, and is kept for a start over */
  int printed;                               /* the other end of output's pipe */
  int counts_output;                         /* what it prints is an impurity */
  uint64_t number_asked_by, moment_asked_by; /* ids of requests: see seeds.c */
};

/* "time,random": what the operator allows; unknown words are ignored. */
void load_watch_accept(const char *list, size_t bytes);
int load_watch_accepts(const char *kind);
/* Watches from here on, and starts afresh. renewed: files, or lines of files as "FILE line N", one
 * a line, whose own code may do what their adapter renews for each request. */
void load_watch_begin(const char *renewed);
/* From here until the end standard input is a pipe at its end, and standard output one that nobody
 * else reads. */
void load_watch_catch_streams(void);
/* Puts the original streams back, for a program that is executed instead: see load_effects.h. */
void load_watch_release_streams(void);
/* The same, whatever the program has put in their place. */
void load_watch_put_back_streams(void);
/* From here on it counts what is printed there. */
void load_watch_count_output(void);
void load_watch_end(void);
/* The program called this function from there. Does nothing outside a watched zygote. */
void load_watch_note(enum impurity kind, const char *function, const void *caller);
/* seeds.c: a request asks for its id, for the time in parts of a second; seeds; seeds by its id.
 * ruby_generator.c: what the adapter itself has asked does not count. */
void seeds_see_number(const void *caller), seeds_see_moment(void);
void seeds_see_seed(const char *call), seeds_made_of_number(const char *call);
void ruby_generator_begin(void);
/* load_place.c: ", at FILE line N" of the program's own code; or 0, if its language does not
 * know. */
int load_place(char *place, size_t bytes);
/* Reads this process's memory, wherever that is; returns whether it could. */
int load_place_read(const void *from, void *to, size_t bytes);
/* Whether perl is about to compare a file's times with its own start: -M, -A, -C. */
int load_place_asks_age(void);
/* perl_generator.c: notes what perl draws or seeds, until it is left. */
void perl_generator_watch(void), perl_generator_leave(void);
/* python_clocks.c: notes which clocks Python's modules read, until it is left. */
void python_clocks_watch(void), python_clocks_leave(void);
int python_seeds_watch(const void *caller); /* whether it counts that a request asks for its id */
/* v8_generator.c: the generator from which V8 seeds Math.random() of each context. find: to be
 * called twice, with an object between that becomes a key. renew: for a request. was_used: since
 * then. 0 or -1, -1 if it is not found. */
int v8_generator_find(void);
int v8_generator_renew(void);
int v8_generator_was_used(void);
/* The file name of the object that has this code, or NULL. */
const char *load_watch_library_of(const void *code);
/* load_clock.c: whether this clock tells the caller's program more than a duration; the program may
 * have been told what processor time was used. */
int load_watch_tells_time(clockid_t clock, const void *caller);
void load_watch_note_processor_time(const char *function, const void *caller);
/* Whether a module of Perl, Python, Ruby or Tcl makes a call that these make themselves, too. */
int load_watch_is_by_program(const void *caller);
/* load_numbers.c: the same as load_watch_note(), by syscall(). */
void load_watch_note_number(long number, const long *words, const void *caller);
/* kernel_files.c: a file is about to be opened; notes what only the kernel's are: random numbers, a
 * clock, an id, somebody's input. */
void load_watch_note_file(int directory, const char *path, int flags, const void *caller);
/* Where a file is below its file system's own root, or "". The path is as the kernel says it. */
const char *kernel_file_place(char *path);
/* cycles.c: reads of the processor's counter are noticed, until then; see also own_calls.h. */
void cycles_watch(void);
void cycles_leave(void);
void cycles_note_mask(const sigset_t *mask); /* is about to be set */
void cycles_note_action(int number);         /* of a signal, set or asked for */
/* What was found, or "". Also checks what was printed. */
const char *load_watch_found(void);
_Noreturn void load_watch_refuse(void); /* for that, at main() or before */
/* load_left.c: what the load has permanently left in the process since the watch began, in words,
 * or "". A library that is loaded ahead leaves it even to requests that do not load it. */
enum threads_left {
  LEFT_THREADS_COUNT, /* each thread does */
  LEFT_THREADS_REST,  /* one that would keep the process from being copied */
  LEFT_THREADS_SEEN   /* none: the watch has seen that none was started */
};
const char *load_left(enum threads_left threads);
void load_left_remember_start(void);
void load_left_begin(void);
void load_left_thread(const void *caller); /* of pthread_create(), in the zygote */
/* load_left.c: puts the process back as it was at its start, as far as exec does not: what stays
 * in a worker that executes its program; that, and what is open or pending, in a zygote. */
void load_left_take_back(void), start_over_prepare(void);
int start_over(void); /* the same, and executes it again; or returns -1 */
/* Whether a descriptor is a copy of standard output, made while that was redirected. */
int load_watch_is_output(const struct stat *status);

#endif
