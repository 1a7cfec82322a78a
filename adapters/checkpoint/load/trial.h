/* A trial: an interpreter runs its program in a zygote until it does what only a request can do,
 * and then starts over, with how far it had come; see adapters/node/trial.js. What the watch finds
 * (load_watch.h) ends it before the call is made. */
#ifndef CGIBRIDGE_TRIAL_H
#define CGIBRIDGE_TRIAL_H

/* In the environment of the process that starts over: what was marked last, a blank, and why it
 * ended. */
#define TRIAL_VARIABLE "CGIBRIDGE_TRIAL"

enum { kTrialBytes = 256 };

/* The trial begins, or has come this far. If it comes no further in some seconds, it ends. */
void trial_mark(const char *how_far);
/* Its interpreter itself starts threads of a pool: none of its threads ends it. */
void trial_begin_pool(void);
int trial_sees_threads(void);
/* Until the next mark it may take as long as it likes. */
void trial_pause(void);
/* The process goes on to its checkpoint instead. */
void trial_leave(void);
/* It went on, and its checkpoint fails: starts over, to load nothing ahead. Else returns. */
void trial_fall_back(const char *why);
/* What an adapter has found ends the one or the other; else returns. */
void trial_end_by_adapter(const char *why);
int trial_is_on(void);
int trial_was_left(void);
/* The program opens, looks at or lists this: a device, or a file of the kernel's, ends a trial. */
void trial_see_path(const char *path);
/* Starts over. Called by any thread, and by a handler of a signal. */
_Noreturn void trial_end(const char *why);

#endif
