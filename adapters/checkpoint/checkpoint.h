/* The checkpoint library: what its files share.
 *
 * The library is preloaded into a program by the bridge. It is inactive, and passes every call
 * through, unless the environment names a control channel. When active, the process is a zygote: it
 * stops at its checkpoint (checkpoint_stand) and forks workers there; in a worker that call returns
 * when a request has been applied to the process, and the program continues as if just started.
 *
 * Rules for all of this code, because it runs inside programs that are not ours and because
 * `rewind` will restore their memory under it: no malloc, no stdio (except the final flush), all of
 * its state in the one `state` object, errors are reported over the channel or by the exit, never
 * by output. */
#ifndef CGIBRIDGE_CHECKPOINT_H
#define CGIBRIDGE_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "call.h"
#include "channel.h"
#include "descriptors.h"
#include "fork.h"
#include "load/environment_watch.h"
#include "load/load_watch.h"
#include "load/lookups.h"
#include "request_strings.h"
#include "static/executable.h"
#include "usage.h"

/* Marks the functions that take the place of a libc function. */
#define INTERPOSED __attribute__((visibility("default")))

enum role { ROLE_NONE, ROLE_ZYGOTE, ROLE_WORKER, ROLE_ANSWERING, ROLE_DONE };

enum {
  kInheritedFdsMax = 1024,
  kLaunchTextMax = 4096,
  kLaunchWordsMax = 256,
  kReasonMax = 256,
  kTimersMax = 16
};

/* Which modules that a request loaded are worth a NOTE_LOADED. */
enum learn_what { LEARN_INSTALLED, LEARN_ALL, LEARN_NONE };

struct checkpoint_state {
  /* The fields that each request changes are next to each other: each page of them has to be put
   * back. */
  enum role role;
  struct processor_time processor;
  unsigned touched;          /* enum touched, since the request began */
  char is_clean, hands_back; /* see calls/clean.h; the kernel reads the second */
  char sets_mask;            /* of signals, since the request began */
  unsigned char executes;    /* how often the bridge was asked about a file to execute */
  uint64_t touched_signals;  /* signals whose disposition was set; bit 0 is signal 1 */
  int channel;               /* control channel of a zygote, own channel of a worker */
  dev_t channel_dev;         /* a program may close the channel and reuse its number */
  ino_t channel_ino;
  pid_t pid;        /* pid of the zygote or worker that this is; a forked child's differs */
  pid_t bridge_pid; /* the parent of the zygote and the workers */
  int end_expected; /* the exit code plus one, if the next wait for events comes after the answer */
  int teardown_expected; /* the same, if the interpreter now frees everything */
  struct request request;
  struct adapters_call call;
  int ender;                    /* threads_end.c: who ends the request */
  void (*end_of_request)(void); /* and how */
  /* The rest stays as it is at the checkpoint. */
  int learn;               /* enum learn_what: which modules are worth a NOTE_LOADED */
  uint64_t ignored;        /* signals that the program starts with, bit 0 is signal 1 */
  int level;               /* enum checkpoint_level that the bridge asked for */
  int reset;               /* enum checkpoint_reset that workers do */
  int tracking;            /* enum page_tracking that the bridge asked for */
  int binds_early;         /* the process was launched with LD_BIND_NOW */
  int is_ahead;            /* becomes the only worker itself instead of forking workers */
  char weaker[kReasonMax]; /* why the reset is weaker than the bridge asked for, or empty */
  unsigned left_out;       /* enum reset_part, for tests */
  struct engine *engine;   /* of RESET_REWIND */
  enum retirement doubt;   /* why the process cannot be put back, and by which call */
  char doubtful_call[48];
  int goes_by; /* the program asked the loader for a function in a way that does not give it ours */
  char bypass[48]; /* the call by which the program reaches libc past our functions, or empty */
  int main_argc;
  int (*real_main)(int, char **, char **);
  char name[16]; /* the process's name, as exec of the program would give it; empty: unchanged */
  char launched_name[16];             /* the kernel's, of the file that was executed */
  char launch_words[kLaunchWordsMax]; /* the words after fd=N */
  char preload_text[kLaunchTextMax];  /* "LD_PRELOAD=..." as the bridge gave it */
  char request_variable[64];          /* a request's variable that was read before the checkpoint */
  struct names_read names_read;       /* the other variables that were read */
  struct lookups lookups;             /* lookups of files that do not exist */
  struct stat folder;      /* the current folder at the start, which may be a wrapper's */
  struct stat standard[3]; /* what 0, 1, 2 were at the start */
  unsigned char inherited[kInheritedFdsMax / 8];
  struct open_file files[kOpenFilesMax];
  size_t file_count, watch_count;
  struct poll_watch watches[kPollWatchesMax];
  int timers[kTimersMax]; /* of timer_create(): the kernel's ids and one more, or 0 */
  int has_more_timers;    /* than that */
  int timers_made;        /* since the start, as a process of its own would have made them */
  unsigned long long loads_at_start; /* of shared objects, before the program's own loads */
  int stands_at_fork;                /* the next fork() is the checkpoint */
  int ruby_goes_by;                  /* see ruby_run.c */
  int ruby_end;                      /* the exit code plus one, if Ruby reported it */
  char ruby_code[128];               /* code to evaluate between compiler and run */
  struct load_watch load;
  struct static_executable executable;
};

extern struct checkpoint_state state;

/* launch_variables.c: takes CGIBRIDGE_CHECKPOINT and this library out of envp, in place, and fills
 * state. Leaves state.role at ROLE_NONE if the variable is missing or malformed. */
void launch_variables_take(char **envp);

/* checkpoint.c: the checkpoint itself. Returns only in a worker to which a request was applied. */
void checkpoint_stand(void);
_Noreturn void checkpoint_refuse(const char *reason); /* tells the bridge, and ends the zygote */

/* zygote.c: serves MESSAGE_FORK until the bridge is gone; returns only in a worker, with is_ahead
 * in this very process. */
void zygote_serve(void);

/* start.c: runs the program again, as the classic way would, for a request that was applied here
 * but does not suit it. Returns only if that cannot be done. */
void start_anew(const struct request *request);

/* worker.c */
void worker_begin(int channel, uint64_t worker_id); /* returns when a request has been applied */
void worker_finish(int exit_code, void *unused);    /* on_exit: the program reached its own end */
void worker_enter_directory(void);                  /* the request's, or ends the process */
void worker_done(int exit_code); /* the answer is complete, though the process lives on */
/* RESET_NONE: ends the request, waits for the next one and applies it. -1: there is none. */
int worker_next(int exit_code);

/* entry.c: whether the program's executable is one that has libc call main(). */
int calls_start_of_libc(void);

/* request.c: text and pointers are kept, not copied. Returns 0, or -1 if the strings are not what
 * the head says. After the environment comes the auxiliary vector of this process's start. */
void request_remember_auxiliary_vector(char **envp);
const unsigned long *request_auxiliary_vector(size_t *words); /* with its end, AT_NULL */
int request_parse(struct request *request, const struct message_request *head, char *text,
                  char **pointers, size_t pointers_max);

/* ruby_run.c: code that libruby evaluates when the script is compiled; -1 if this interpreter does
 * not call these functions. */
int ruby_run_expect(const char *code);

#endif
