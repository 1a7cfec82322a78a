/* See passed_files.h. The kernel says what is held: /proc/self/fdinfo lists, for each descriptor,
 * the locks that were made by it. */
#include "rewind/passed_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "message/wire.h"
#include "raw_call.h"

enum { kStreams = MESSAGE_REQUEST_FDS, kInfoBytes = 2048, kDigits = 12 };

/* "fdinfo/N", beside the list of descriptors. */
static void path_of_info(int fd, char *path) {
  char digits[kDigits];
  int count = 0;
  strcpy(path, "../fdinfo/");
  path += strlen(path);
  for (int rest = fd; rest > 0 || count == 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
  while (count > 0) *path++ = digits[--count];
  *path = '\0';
}

/* 0, or -1 if it cannot be read, or is longer. */
static int info_read(int fds_fd, int fd, char *text) {
  char path[sizeof "../fdinfo/" + kDigits];
  path_of_info(fd, path);
  long info = raw_call(SYS_openat, fds_fd, path, O_RDONLY | O_CLOEXEC);
  if (info < 0) return -1;
  size_t bytes = 0;
  long got;
  while ((got = raw_call(SYS_read, info, text + bytes, kInfoBytes - bytes)) > 0)
    bytes += (size_t)got;
  raw_call(SYS_close, info);
  if (got < 0 || bytes == kInfoBytes) return -1;
  text[bytes] = '\0';
  return 0;
}

enum held { HELD_NOTHING, HELD_LOCK, HELD_ELSE };

/* "lock:\t1: POSIX  ADVISORY  WRITE ...". flock()'s and OFDLCK belong to the open file. */
static enum held held_by_line(const char *line) {
  static const char kLock[] = "lock:\t";
  if (strncmp(line, kLock, sizeof kLock - 1) != 0) return HELD_NOTHING;
  const char *kind = strchr(line, ' ');
  if (kind == NULL) return HELD_ELSE;
  ++kind;
  if (strncmp(kind, "FLOCK ", 6) == 0 || strncmp(kind, "OFDLCK ", 7) == 0) return HELD_NOTHING;
  return strncmp(kind, "POSIX ", 6) == 0 ? HELD_LOCK : HELD_ELSE;
}

static enum held held_locks(int fds_fd, int fd) {
  char text[kInfoBytes];
  enum held held = HELD_NOTHING;
  if (info_read(fds_fd, fd, text) != 0) return HELD_ELSE;
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    enum held by_line = held_by_line(line);
    if (by_line > held) held = by_line;
  }
  return held;
}

/* By SIGIO and its like: who made a lease, or asked for it (F_SETOWN, FIOSETOWN). */
static int has_owner(int fd) {
  struct {
    int type, pid;
  } owner = {0, 0};
  return raw_call(SYS_fcntl, fd, F_GETOWN_EX, &owner) == 0 && owner.pid != 0;
}

static int is_among(const struct stat *status, const struct stat *list, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (list[i].st_dev == status->st_dev && list[i].st_ino == status->st_ino) return 1;
  }
  return 0;
}

/* streams: 0, 1 and 2 so far. They are closed when the others begin to wait; the files are not. */
static int can_be_passed(int fds_fd, dev_t processes, int fd, struct stat *status,
                         const struct stat *streams) {
  if (raw_call(SYS_fstat, fd, status) != 0 || status->st_dev == processes || has_owner(fd))
    return 0;
  enum held held = held_locks(fds_fd, fd);
  if (held != HELD_LOCK) return held == HELD_NOTHING;
  return fd >= kStreams && S_ISREG(status->st_mode) && !is_among(status, streams, kStreams);
}

int files_can_be_passed(int fds_fd, dev_t processes, const struct inherited_numbers *numbers) {
  struct stat streams[kStreams], status;
  for (int fd = 0; fd < kStreams; ++fd) {
    if (!can_be_passed(fds_fd, processes, fd, &streams[fd], streams)) return 0;
  }
  for (size_t i = 0; i < numbers->count; ++i) {
    if (!can_be_passed(fds_fd, processes, numbers->fds[i], &status, streams)) return 0;
  }
  return 1;
}
