/* What a program read, looked at, or looked for and did not find, before the checkpoint. */
#ifndef CGIBRIDGE_LOOKUPS_H
#define CGIBRIDGE_LOOKUPS_H

#include <stddef.h>

enum { kReadMax = 96 * 1024, kLookedMax = 32 * 1024, kKnownPaths = 4096, kRestlessMax = 4 };

/* One path per line; if it ends with a slash, only whether the same file is still there matters. */
struct path_list {
  char *lines;
  size_t bytes, most;
  char is_full; /* there were more than fit */
};

struct lookups {
  struct path_list read;   /* files and folders that were read, or are missing */
  struct path_list looked; /* what was looked at, but not read */
  char read_lines[kReadMax], looked_lines[kLookedMax];
  unsigned known[kKnownPaths]; /* sums of the lines; 0: free */
  /* Sums of lines that change all the time: what looks at them is left to the requests. */
  unsigned restless[kRestlessMax];
  char is_held;        /* a lock */
  char input_was_read; /* descriptor 0 was read */
};

/* Finds libc's functions. */
void lookups_begin(void);
/* "1f,2e": the sums of restless. */
void lookups_mind_restless(const char *sums);
int lookups_are_restless(const char *path); /* an absolute one */
/* A file is about to be opened. */
void lookups_see_open(int directory, const char *path, int flags, const void *caller);
/* The program asks what is there, by stat(), access(), readlink() and the like. */
void lookups_see_look(int directory, const char *path, const void *caller);
/* A folder is about to be listed. */
void lookups_see_folder(const char *path, const void *caller);
/* An adapter's call: "own-folders/PATHS", folders, one a line, that the interpreter has listed for
 * itself, so that a new file there changes nothing; "own-files/PATH", a folder whose files are its
 * own, whatever becomes of them. 0: it is neither. */
int lookups_leave_out(const char *call);
/* Whether standard input was read, which no request has brought yet. */
int lookups_see_input(void);
/* Whether the current folder differs from the one at the start. */
int lookups_left_folder(void);
/* At the checkpoint: sends NOTE_FILE to the bridge, beginning with what was read. */
void lookups_tell(void);

/* Perl's modules that the request has opened, a path a line, in this order: a module that loads
 * another one comes first. given: how many bytes the adapter has read. */
struct opened_modules {
  const char *lines;
  size_t bytes, given;
};
struct opened_modules *lookups_opened_modules(void);

#endif
