/* The place of a file that is open, in the kernel's words. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "calls/clean.h"
#include "descriptors.h"

void path_to_open_file(long fd, char *path) {
  static const char kFolder[] = "/proc/self/fd/";
  char digits[24];
  int count = 0;
  for (long rest = fd; rest > 0 || count == 0; rest /= 10)
    digits[count++] = (char)('0' + rest % 10);
  char *end = mempcpy(path, kFolder, sizeof kFolder - 1);
  while (count > 0) *end++ = digits[--count];
  *end = '\0';
}

long path_of_open_file(long fd, char *path, size_t bytes) {
  char link[kFilePathBytes];
  if (fd < 0) return -EBADF;
  path_to_open_file(fd, link);
  long length = libc_call(SYS_readlinkat, AT_FDCWD, link, path, bytes - 1);
  if (length >= 0) path[length] = '\0';
  return length;
}
