/* See mapped_files.h. */
#include "rewind/mapped_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "raw_call.h"
#include "rewind/memory.h"

enum { kFilesMax = 128, kPathsBytes = 16384 };

static struct file {
  uint64_t inode;
  uint32_t device;
  const char *path;
} files[kFilesMax];
static char paths[kPathsBytes];
static size_t file_count, path_bytes;

static int may_return(const struct mapping *mapping) {
  return mapping->inode != 0 && !mapping->is_shared && mapping->prot == PROT_READ;
}

static const struct file *find(const struct mapping *mapping) {
  for (size_t i = 0; i < file_count; ++i) {
    if (files[i].inode == mapping->inode && files[i].device == mapping->device) return &files[i];
  }
  return NULL;
}

void mapped_files_forget(void) {
  file_count = path_bytes = 0;
}

void mapped_file_note(const struct mapping *line, const char *path) {
  size_t bytes = strlen(path) + 1;
  if (!may_return(line) || path[0] != '/' || find(line) != NULL) return;
  if (file_count == kFilesMax || bytes > kPathsBytes - path_bytes) return;
  char *kept = memcpy(paths + path_bytes, path, bytes);
  path_bytes += bytes;
  files[file_count++] = (struct file){line->inode, line->device, kept};
}

/* As /proc/self/maps has it. */
static int is_same_file(int fd, const struct file *file) {
  struct stat found;
  return raw_call(SYS_fstat, fd, &found) == 0 && S_ISREG(found.st_mode) &&
         found.st_ino == file->inode &&
         (major(found.st_dev) << 16 | minor(found.st_dev)) == file->device;
}

int mapped_file_put_back(const struct mapping *then, uintptr_t start, uintptr_t end) {
  const struct file *file = may_return(then) ? find(then) : NULL;
  if (file == NULL) return -1;
  int fd = (int)raw_call(SYS_openat, AT_FDCWD, file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  long at = -1;
  if (is_same_file(fd, file)) {
    at = raw_call(SYS_mmap, start, end - start, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
                  then->offset + (start - then->start));
  }
  raw_call(SYS_close, fd);
  return at == (long)start ? 0 : -1;
}
