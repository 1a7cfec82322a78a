/* Descriptors beside 0, 1 and 2 that a program leaves open for what it executes, if another worker
 * takes its place (hand_over.h): a locked file, for example, as ikiwiki's wrapper has one.
 *
 * A lock of POSIX belongs to a process, so the worker that waits keeps the files that it has passed
 * on, until the other one does what would release the locks of a process: it closes the file, or
 * another descriptor of it, or locks or unlocks something in it. */
#ifndef CGIBRIDGE_INHERITED_H
#define CGIBRIDGE_INHERITED_H

#include <stddef.h>
#include <sys/types.h>

enum { kInheritedMost = 8 };

/* Of a request that came from another worker; else all zero. */
struct inherited_files {
  int peer; /* our end of the socket to the worker that waits, plus one */
  size_t count;
  struct inherited_file {
    int fd;
    dev_t device;
    ino_t inode;
  } files[kInheritedMost];
};

/* ---- the worker that takes the place ---- */

/* Puts what comes from peer into place, 0, 1 and 2 and the others under their numbers, and says so.
 * Closes peer, unless the other worker has to be told something later. 0 or -1. Without libc. */
int inherited_take(int peer);
/* Called before the program, in a request, closes this descriptor, or locks or unlocks something
 * there; or may close any. */
void inherited_let_go(long fd);
void inherited_let_all_go(void);
int inherited_peer(void); /* the socket to the worker that waits, or -1 */

/* ---- the worker that waits ---- */

struct inherited_numbers {
  int fds[kInheritedMost];
  size_t count;
};
/* Sends them, and 0, 1 and 2. 0 once the other worker has them. Without libc. */
int inherited_send(int peer, const struct inherited_numbers *numbers);
/* What has been passed on, and is not a file, is closed; files wait for inherited_serve(). */
void inherited_keep(const struct inherited_numbers *numbers);
/* Does what the other worker asks for; 0, or -1 if it asks for nothing more. */
int inherited_serve(int peer);

#endif
