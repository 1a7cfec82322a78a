/* What a program looked for, before the checkpoint, and did not find. */
#ifndef CGIBRIDGE_LOOKUPS_H
#define CGIBRIDGE_LOOKUPS_H

#include <stddef.h>

enum { kLookupsMax = 48 * 1024 };

struct lookups {
  char lines[kLookupsMax]; /* one path a line */
  size_t bytes;
  char is_full;        /* there were more */
  char is_held;        /* a lock */
  char input_was_read; /* descriptor 0 was */
};

/* Finds libc's functions. */
void lookups_begin(void);
/* Whether anybody asked for standard input, which no request has brought yet. */
int lookups_see_input(void);
/* Whether the current folder is another than at the start. */
int lookups_left_folder(void);
/* At the checkpoint: NOTE_FILE to the bridge. */
void lookups_tell(void);

#endif
