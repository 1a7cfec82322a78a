/* Notices reads of the environment before the checkpoint. getenv() notes in state.request_variable
 * a name that only a request can answer, and in state.names_read what else was asked for, by the
 * program or by libc on its behalf. */
#ifndef CGIBRIDGE_ENVIRONMENT_WATCH_H
#define CGIBRIDGE_ENVIRONMENT_WATCH_H

#include <stddef.h>

enum { kNamesReadMax = 8192 };

struct names_read {
  char lines[kNamesReadMax]; /* one name a line */
  size_t bytes;
  char is_full; /* there were more than fit */
  char is_held; /* a lock */
};

/* Call it before the first constructor of the program. */
void environment_watch_begin(void);
void environment_watch_remember(char **envp);  /* as the program gets it */
char **environment_launched(void);             /* the same, later; or NULL, if that were too many */
void environment_watch_note(const char *name); /* the program reads it, bypassing getenv() */
int environment_is_of_request(const char *name); /* whether it differs between two requests */
/* At the checkpoint of a program that has no adapter: notes what constructors have set and removed.
 * -1: that cannot be repeated in another environment. */
int environment_note_changes(void);
/* In a worker, with a request's environment in place: makes the same changes to it. -1: it is not
 * known whether a constructor would have set a name that the request brings. */
int environment_change_again(void);
/* Whether a program that is executed gets what this one got, apart from what a shell sets for
 * itself; else also what is changed, in words. */
int environment_is_as_launched(char *const envp[], char *what, size_t bytes);
/* At the checkpoint: sends NOTE_READ to the bridge, or ends a zygote that read too many. */
void environment_watch_tell(void);

#endif
