#include "load/inserted.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checkpoint.h"
#include "raw_call.h"

enum { kInsertedMax = 9, kTextMax = 512, kPathMax = 4096, kPieceBytes = 16 * 1024 };

static struct inserted {
  char path[kPathMax], text[kTextMax];
  long offset;
} inserted[kInsertedMax];
static int count;

int inserted_set(const char *what) {
  if (what[0] == '\0') {
    count = 0;
    return 0;
  }
  if (count == kInsertedMax) return -1;
  struct inserted *next = &inserted[count];
  char *text;
  next->offset = strtol(what, &text, 10);
  const char *path = text[0] == '/' ? strchr(text + 1, '/') : NULL;
  if (path == NULL || path - text > kTextMax || strlen(path) >= kPathMax) return -1;
  size_t length = (size_t)(path - text - 1);
  memcpy(next->text, text + 1, length);
  next->text[length] = '\0';
  strcpy(next->path, path);
  ++count;
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

static int copy_with_texts(const char *path, long from, long to) {
  long at = 0;
  for (const struct inserted *one = inserted; one < inserted + count; ++one) {
    if (strcmp(path, one->path) != 0) continue;
    long length = (long)strlen(one->text);
    if (one->offset < at || copy(from, to, one->offset - at) != 0) return -1;
    if (raw_call(SYS_write, to, one->text, length) != length) return -1;
    at = one->offset;
  }
  return copy(from, to, -1) == 0 && raw_call(SYS_lseek, to, 0, SEEK_SET) == 0 ? 0 : -1;
}

static int has_text(const char *path) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(path, inserted[i].path) == 0) return 1;
  }
  return 0;
}

int inserted_open(const char *path, int flags) {
  int is_it = count > 0 && state.role == ROLE_ZYGOTE && path != NULL &&
              (flags & O_ACCMODE) == O_RDONLY && has_text(path);
  if (!is_it) return -1;
  long from = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  long to = from < 0 ? -1 : raw_call(SYS_memfd_create, "program", MFD_CLOEXEC);
  int is_copied = to >= 0 && copy_with_texts(path, from, to) == 0;
  if (from >= 0) raw_call(SYS_close, from);
  if (to >= 0 && !is_copied) raw_call(SYS_close, to);
  return is_copied ? (int)to : -1;
}
