/* /proc/self/exe is the program that was launched in the executable's place; the program is shown
 * its own. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

#if defined(__x86_64__)

static int is_number(const char *text, size_t length) {
  for (size_t i = 0; i < length; ++i) {
    if (text[i] < '0' || text[i] > '9') return 0;
  }
  return length > 0;
}

static pid_t number_of(const char *text, size_t length) {
  pid_t number = 0;
  for (size_t i = 0; i < length && i < 9; ++i) number = number * 10 + (text[i] - '0');
  return number;
}

/* "/proc/self/exe", "/proc/thread-self/exe", "/proc/PID/exe". */
static int names_own_executable(const char *path) {
  static const char kProc[] = "/proc/", kFile[] = "/exe";
  if (strncmp(path, kProc, sizeof kProc - 1) != 0) return 0;
  const char *whose = path + sizeof kProc - 1;
  const char *end = strchr(whose, '/');
  if (end == NULL || strcmp(end, kFile) != 0) return 0;
  size_t length = (size_t)(end - whose);
  if (length == 4 && memcmp(whose, "self", 4) == 0) return 1;
  if (length == 11 && memcmp(whose, "thread-self", 11) == 0) return 1;
  if (!is_number(whose, length)) return 0;
  pid_t number = number_of(whose, length); /* of itself, or as a child of its parent */
  return number == state.pid || number == raw_call(SYS_getpid);
}

/* Whether it can be read: the kernel reads the path first. */
static int can_be_read(long path) {
  return path != 0 && raw_call(SYS_faccessat, AT_FDCWD, path, F_OK) != -EFAULT;
}

/* Which word is a path that is followed to a file; -1: none. */
static int path_word(long number) {
  switch (number) {
    case SYS_open:
    case SYS_stat:
    case SYS_access:
    case SYS_creat:
    case SYS_execve:
    case SYS_readlink:
      return 0;
    case SYS_openat:
    case SYS_openat2:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_execveat:
    case SYS_readlinkat:
      return 1;
    default:
      return -1;
  }
}

static long show_link(long text, int bytes) {
  size_t length = strlen(state.executable.file);
  if (bytes <= 0) return -EINVAL;
  if (length > (size_t)bytes) length = (size_t)bytes;
  long result = copy_out(text, state.executable.file, length);
  return result == 0 ? (long)length : result;
}

long trapped_path(long number, const long *words) {
  long changed[6];
  int word = program_is_static() ? path_word(number) : -1;
  if (word < 0) return kNotTaken;
  if (!can_be_read(words[word])) return as_it_came(number, words);
  if (!names_own_executable((const char *)words[word])) return kNotTaken;
  memcpy(changed, words, sizeof changed);
  if (number == SYS_readlink) return show_link(words[1], (int)words[2]);
  if (number == SYS_readlinkat) return show_link(words[2], (int)words[3]);
  changed[word] = (long)state.executable.file;
  return raw_call6(number, changed[0], changed[1], changed[2], changed[3], changed[4], changed[5]);
}

#endif
