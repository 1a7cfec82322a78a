#include "load/inserted.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checkpoint.h"
#include "raw_call.h"

enum { kTextMax = 128, kPathMax = 4096, kPieceBytes = 16 * 1024 };

static struct {
  char path[kPathMax], text[kTextMax];
  long offset;
} inserted;

int inserted_set(const char *what) {
  inserted.path[0] = '\0';
  if (what[0] == '\0') return 0;
  char *text;
  inserted.offset = strtol(what, &text, 10);
  const char *path = text[0] == '/' ? strchr(text + 1, '/') : NULL;
  if (path == NULL || path - text > kTextMax || strlen(path) >= kPathMax) return -1;
  size_t length = (size_t)(path - text - 1);
  memcpy(inserted.text, text + 1, length);
  inserted.text[length] = '\0';
  strcpy(inserted.path, path);
  return 0;
}

/* Up to so many bytes; -1: all. */
static int copy(long from, long to, long bytes) {
  char piece[kPieceBytes];
  while (bytes != 0) {
    long most = bytes < 0 || bytes > kPieceBytes ? kPieceBytes : bytes;
    long got = raw_call(SYS_read, from, piece, most);
    if (got <= 0) return got == 0 && bytes < 0 ? 0 : -1;
    if (raw_call(SYS_write, to, piece, got) != got) return -1;
    if (bytes > 0) bytes -= got;
  }
  return 0;
}

static int copy_with_text(long from, long to) {
  long length = (long)strlen(inserted.text);
  if (copy(from, to, inserted.offset) != 0) return -1;
  if (raw_call(SYS_write, to, inserted.text, length) != length || copy(from, to, -1) != 0)
    return -1;
  return raw_call(SYS_lseek, to, 0, SEEK_SET) == 0 ? 0 : -1;
}

int inserted_open(const char *path, int flags) {
  int is_it = inserted.path[0] != '\0' && state.role == ROLE_ZYGOTE && path != NULL &&
              (flags & O_ACCMODE) == O_RDONLY && strcmp(path, inserted.path) == 0;
  if (!is_it) return -1;
  long from = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  long to = from < 0 ? -1 : raw_call(SYS_memfd_create, "program", MFD_CLOEXEC);
  int is_copied = to >= 0 && copy_with_text(from, to) == 0;
  if (from >= 0) raw_call(SYS_close, from);
  if (to >= 0 && !is_copied) raw_call(SYS_close, to);
  return is_copied ? (int)to : -1;
}
