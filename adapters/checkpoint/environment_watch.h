/* Who looks at the environment before the checkpoint. getenv() notes in state.request_variable what
 * a request alone may answer, and in state.names_read what else was asked for, by the program or by
 * libc for it. */
#ifndef CGIBRIDGE_ENVIRONMENT_WATCH_H
#define CGIBRIDGE_ENVIRONMENT_WATCH_H

#include <stddef.h>

enum { kNamesReadMax = 8192 };

struct names_read {
  char lines[kNamesReadMax]; /* one name a line */
  size_t bytes;
  char is_full; /* there were more */
  char is_held; /* a lock */
};

/* Before the first constructor of the program. */
void environment_watch_begin(void);
void environment_watch_remember(char **envp); /* as the program is given it */
/* At the checkpoint of a program that nobody tells of requests: notes what constructors set and
 * took away since. -1: that cannot be done again in another environment. */
int environment_note_changes(void);
/* In a worker, with a request's environment in place: does the same to that. -1: whether a
 * constructor would have set a name that the request brings is not known. */
int environment_change_again(void);
/* At the checkpoint: NOTE_READ to the bridge, or the end of a zygote that read too many. */
void environment_watch_tell(void);

#endif
