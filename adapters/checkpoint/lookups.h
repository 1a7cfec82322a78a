/* What a program read, or looked for and did not find, before the checkpoint. */
#ifndef CGIBRIDGE_LOOKUPS_H
#define CGIBRIDGE_LOOKUPS_H

#include <stddef.h>

enum { kLookupsMax = 96 * 1024 };

struct lookups {
  char lines[kLookupsMax]; /* one path a line */
  size_t bytes;
  char is_full;        /* there were more than fit */
  char is_held;        /* a lock */
  char input_was_read; /* descriptor 0 was read */
};

/* Finds libc's functions. */
void lookups_begin(void);
/* A file is about to be opened. */
void lookups_see_open(int directory, const char *path, int flags);
/* Whether standard input was read, which no request has brought yet. */
int lookups_see_input(void);
/* Whether the current folder differs from the one at the start. */
int lookups_left_folder(void);
/* At the checkpoint: sends NOTE_FILE to the bridge. */
void lookups_tell(void);

#endif
