/* Pipes at the checkpoint, of which the process has both ends: libuv wakes itself by one, and keeps
 * a lock in another as a byte that nobody has read yet. */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "checkpoint.h"
#include "raw_call.h"

enum { kUsualSize = 65536 };

/* tee(2) copies without reading. */
int pipe_peek(int fd, char *content) {
  int bytes = 0, copy[2];
  if (raw_call(SYS_ioctl, fd, FIONREAD, &bytes) != 0 || bytes > kPipeBytesMax) return -1;
  if (bytes == 0) return 0;
  if (raw_call(SYS_pipe2, copy, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  long got = raw_call(SYS_tee, fd, copy[1], bytes, SPLICE_F_NONBLOCK);
  if (got == bytes) got = raw_call(SYS_read, copy[0], content, bytes);
  raw_call(SYS_close, copy[0]);
  raw_call(SYS_close, copy[1]);
  return got == bytes ? bytes : -1;
}

const char *pipe_take(int fd, const struct stat *status, struct open_file *file) {
  const int known = O_ACCMODE | O_NONBLOCK;
  int mode = file->flags & O_ACCMODE;
  file->kind = FILE_PIPE;
  file->pipe = status->st_ino;
  if ((file->flags & ~known) != 0 || mode == O_RDWR) return "a pipe of a special kind";
  if (mode == O_WRONLY) return NULL;
  file->pipe_size = fcntl(fd, F_GETPIPE_SZ);
  int bytes = pipe_peek(fd, file->pipe_content);
  if (bytes < 0) return "a pipe with much in it";
  file->pipe_bytes = (unsigned char)bytes;
  return NULL;
}

static int is_end(const struct open_file *file) {
  return file->kind == FILE_PIPE && file->same_as == 0;
}

/* The place of the other end, if there is exactly one; or -1. */
static int find_other_end(const struct open_file *end) {
  int found = -1;
  for (size_t i = 0; i < state.file_count; ++i) {
    const struct open_file *other = &state.files[i];
    if (other == end || !is_end(other) || other->pipe != end->pipe) continue;
    if (found >= 0 || (other->flags & O_ACCMODE) == (end->flags & O_ACCMODE)) return -1;
    found = (int)i;
  }
  return found;
}

int pipes_pair(void) {
  for (size_t i = 0; i < state.file_count; ++i) {
    struct open_file *file = &state.files[i];
    if (!is_end(file)) continue;
    file->other_end = find_other_end(file);
    if (file->other_end < 0) return file->fd;
  }
  return -1;
}

/* common: the flags that both ends were made with. */
static int set_flags(const struct open_file *file, int common) {
  if ((file->flags & O_NONBLOCK) == common) return 0;
  return (int)raw_call(SYS_fcntl, file->fd, F_SETFL, O_NONBLOCK);
}

static int set_size(const struct open_file *file) {
  if (file->pipe_size == kUsualSize) return 0;
  return raw_call(SYS_fcntl, file->fd, F_SETPIPE_SZ, file->pipe_size) < 0 ? -1 : 0;
}

int pipe_make(const struct open_file *reading) {
  const struct open_file *writing = &state.files[reading->other_end];
  int ends[2];
  int common = reading->flags & writing->flags & O_NONBLOCK;
  if (raw_call(SYS_pipe2, ends, O_CLOEXEC | common) != 0) return -1;
  /* The descriptors with these numbers are closed already, or are to be replaced; but no new end
   * may get the number where the other belongs. */
  int is_crosswise = ends[1] == reading->fd || ends[0] == writing->fd;
  for (int i = 0; i < 2 && is_crosswise; ++i) ends[i] = descriptor_move_aside(ends[i]);
  if (descriptor_place(ends[0], reading) != 0 || descriptor_place(ends[1], writing) != 0) {
    return -1;
  }
  if (set_flags(reading, common) != 0 || set_flags(writing, common) != 0 ||
      set_size(reading) != 0) {
    return -1;
  }
  long bytes = reading->pipe_bytes;
  if (bytes == 0) return 0;
  return raw_call(SYS_write, writing->fd, reading->pipe_content, bytes) == bytes ? 0 : -1;
}
