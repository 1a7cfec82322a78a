/* The descriptors of a resting worker, compared with those of its zygote, which are as they were at
 * the checkpoint. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rewind/findings.h"

static int stood_at_checkpoint(int fd) {
  for (size_t i = 0; i < state.file_count; ++i) {
    if (state.files[i].fd == fd) return 1;
  }
  return 0;
}

/* Returns which of 0, 1 and 2 are open, as bits. */
static unsigned compare_numbers(struct findings *findings) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd", (int)findings->pid);
  DIR *folder = opendir(path);
  if (folder == NULL) {
    find(findings, "its descriptors cannot be listed: %s", strerror(errno));
    return 0;
  }
  unsigned streams = 0;
  size_t standing = 0, own = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] == '.') continue;
    if (stood_at_checkpoint(fd)) {
      ++standing;
    } else if (fd >= descriptor_least_own()) {
      ++own;
    } else if (fd <= 2) {
      streams |= 1u << fd;
    } else {
      find(findings, "descriptor %d is open", fd);
    }
  }
  closedir(folder);
  if (standing != state.file_count) find(findings, "a descriptor of the checkpoint is closed");
  if (own > 7 + state.file_count) find(findings, "%zu descriptors are open high up", own);
  return streams;
}

/* ---- what they are ---- */

/* How much of a line of fdinfo has to be the same; 0: it may differ. Lines on what an epoll
 * instance watches end with numbers that differ. */
static size_t watched_bytes(const struct open_file *file, const char *line) {
  static const char *const kLines[] = {"eventfd-", "clockid:", "ticks:", "it_"};
  const char *end = strchr(line, '\n');
  size_t length = end == NULL ? strlen(line) : (size_t)(end - line);
  if (strncmp(line, "tfd:", 4) == 0) {
    const char *position = strstr(line, " pos:");
    return position != NULL && position < line + length ? (size_t)(position - line) : length;
  }
  if (strncmp(line, "eventfd-id", 10) == 0) return 0;
  if (strncmp(line, "pos:", 4) == 0) return file->kind == FILE_NAMED ? length : 0;
  for (size_t i = 0; i < sizeof kLines / sizeof *kLines; ++i) {
    if (strncmp(line, kLines[i], strlen(kLines[i])) == 0) return length;
  }
  return 0;
}

static const char *next_line(const char *line) {
  const char *end = strchr(line, '\n');
  return end == NULL ? line + strlen(line) : end + 1;
}

static int has_line(const char *text, const char *line, size_t bytes) {
  for (const char *at = text; *at != '\0'; at = next_line(at)) {
    if (strncmp(at, line, bytes) == 0 && strchr("\n ", at[bytes]) != NULL) return 1;
  }
  return 0;
}

static int count_watches(const char *text) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, "tfd:")) != NULL; ++at) ++count;
  return count;
}

/* A file is opened again by another name. */
static unsigned long flags_of(const char *text) {
  const char *flags = strstr(text, "flags:");
  return flags == NULL ? 0
                       : strtoul(flags + strlen("flags:"), NULL, 8) & ~(unsigned long)O_NOFOLLOW;
}

static void compare_info(struct findings *findings, const struct open_file *file) {
  char name[32];
  snprintf(name, sizeof name, "fdinfo/%d", file->fd);
  char *ours = findings->scratch->ours, *theirs = findings->scratch->theirs;
  read_text(getpid(), name, ours);
  read_text(findings->pid, name, theirs);
  for (const char *line = ours; *line != '\0'; line = next_line(line)) {
    size_t bytes = watched_bytes(file, line);
    if (bytes > 0 && !has_line(theirs, line, bytes)) {
      return find(findings, "descriptor %d has no \"%.*s\"", file->fd, (int)bytes, line);
    }
  }
  if (flags_of(ours) != flags_of(theirs)) {
    find(findings, "descriptor %d has flags %#lo, not %#lo", file->fd, flags_of(theirs),
         flags_of(ours));
  }
  if (count_watches(ours) != count_watches(theirs)) {
    find(findings, "descriptor %d watches something else", file->fd);
  }
}

static int stat_of(pid_t pid, int fd, struct stat *status) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
  return stat(path, status);
}

/* A pipe is the worker's own if it is not ours, and both its ends are one pipe; a socket likewise.
 */
static int is_right_file(const struct findings *findings, const struct open_file *file) {
  struct stat ours, theirs, other;
  if (fstat(file->fd, &ours) != 0 || stat_of(findings->pid, file->fd, &theirs) != 0) return 0;
  if (ours.st_mode != theirs.st_mode || ours.st_dev != theirs.st_dev) return 0;
  if (file->kind != FILE_PIPE && file->kind != FILE_ENDED_SOCKET)
    return ours.st_ino == theirs.st_ino;
  if (file->same_as != 0 || file->kind == FILE_ENDED_SOCKET) return theirs.st_ino != ours.st_ino;
  return stat_of(findings->pid, state.files[file->other_end].fd, &other) == 0 &&
         other.st_ino == theirs.st_ino && theirs.st_ino != ours.st_ino;
}

static void compare_pipe(struct findings *findings, const struct open_file *file) {
  char name[32], content[kPipeBytesMax];
  snprintf(name, sizeof name, "fd/%d", file->fd);
  int fd = open_of(findings->pid, name);
  int bytes = fd < 0 ? -1 : pipe_peek(fd, content);
  if (fd >= 0) close(fd);
  if (bytes != file->pipe_bytes || memcmp(content, file->pipe_content, file->pipe_bytes) != 0) {
    find(findings, "the pipe of descriptor %d has other content", file->fd);
  }
}

/* The streams of its last request may have been kept for the next one: then all of them, unchanged.
 */
static void compare_streams(struct findings *findings, unsigned open) {
  enum { kAll = 7, kModeOfPipes = S_IFIFO | 0600 };
  if (open == 0) return;
  if (open != kAll) return find(findings, "some of descriptors 0, 1 and 2 are open");
  for (int fd = 0; fd <= 2; ++fd) {
    struct stat status;
    char name[32], *text = findings->scratch->theirs;
    unsigned long wanted = fd == 0 ? O_RDONLY : O_WRONLY;
    snprintf(name, sizeof name, "fdinfo/%d", fd);
    read_text(findings->pid, name, text);
    if (stat_of(findings->pid, fd, &status) != 0 || status.st_mode != kModeOfPipes) {
      find(findings, "descriptor %d is not the pipe that it was", fd);
    } else if (flags_of(text) != wanted || strstr(text, "lock:") != NULL) {
      find(findings, "descriptor %d has other flags, or a lock", fd);
    }
  }
}

void compare_descriptors(struct findings *findings) {
  compare_streams(findings, compare_numbers(findings));
  for (size_t i = 0; i < state.file_count; ++i) {
    const struct open_file *file = &state.files[i];
    if (!is_right_file(findings, file)) {
      find(findings, "descriptor %d refers to something else", file->fd);
      continue;
    }
    compare_info(findings, file);
    int is_reading_end = file->kind == FILE_PIPE && (file->flags & O_ACCMODE) == O_RDONLY;
    if (is_reading_end && file->same_as == 0) compare_pipe(findings, file);
  }
}
