/* See named_files.h. */
#include "calls/named_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "calls/passed_calls.h"
#include "calls/rare_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"

enum { kPathMost = 512, kPathsMost = 4, kPage = 4096 };

/* They are put back with the program's memory. By two threads at once one may be lost. */
static char paths[kPathsMost][kPathMost];
static int count, is_lost;

/* In a static program's call: nothing of libc but what works on strings. */
static const char *decimal(unsigned number, char *text, size_t bytes) {
  char *at = text + bytes - 1;
  *at = '\0';
  do {
    *--at = (char)('0' + number % 10);
  } while ((number /= 10) != 0);
  return at;
}

static int is_digit(char character) {
  return character >= '0' && character <= '9';
}

static int has_number(const char *path, const char *number) {
  size_t length = strlen(number);
  for (const char *at = path; (at = strstr(at, number)) != NULL; ++at) {
    if (!is_digit(at[length]) && (at == path || !is_digit(at[-1]))) return 1;
  }
  return 0;
}

/* A static program's path may be no memory. */
static int copy_path(char *to, const char *path) {
  if (!may_be_memory(path)) return -1;
  if (!program_has_traps()) {
    size_t length = strnlen(path, kPathMost);
    if (length == kPathMost) return -1;
    memcpy(to, path, length + 1);
    return 0;
  }
  for (size_t have = 0; have < kPathMost;) {
    size_t bytes = kPage - ((uintptr_t)path + have) % kPage;
    if (bytes > kPathMost - have) bytes = kPathMost - have;
    if (!load_place_read(path + have, to + have, bytes)) return -1;
    if (memchr(to + have, '\0', bytes) != NULL) return 0;
    have += bytes;
  }
  return -1;
}

/* The same file, wherever the program may be at its end. */
static int make_absolute(char *path, int directory) {
  char folder[kPathMost];
  if (path[0] == '/') return 0;
  if (directory != AT_FDCWD || libc_call(SYS_getcwd, folder, sizeof folder) <= 0) return -1;
  size_t bytes = strlen(folder), more = strlen(path);
  if (bytes + 1 + more >= kPathMost) return -1;
  memmove(path + bytes + 1, path, more + 1);
  memcpy(path, folder, bytes);
  path[bytes] = '/';
  return 0;
}

void named_files_see(int directory, const char *path) {
  char number[16], whole[kPathMost];
  if (state.role != ROLE_ANSWERING || state.reset != RESET_REWIND || is_lost) return;
  if (copy_path(whole, path) != 0) return;
  if (!has_number(whole, decimal((unsigned)state.pid, number, sizeof number))) return;
  if (strncmp(whole, "/proc/", 6) == 0 || strncmp(whole, "/dev/fd/", 8) == 0) return;
  is_lost = make_absolute(whole, directory) != 0;
  for (int i = 0; !is_lost && i < count; ++i) {
    if (strcmp(paths[i], whole) == 0) return;
  }
  is_lost |= count == kPathsMost;
  if (!is_lost) strcpy(paths[count++], whole);
}

int named_files_are_left(char *why, size_t bytes) {
  static const char kWhy[] = "it has named what it leaves by its process id: ";
  for (int i = 0; i < count; ++i) {
    struct stat status;
    if (raw_call(SYS_newfstatat, AT_FDCWD, paths[i], &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    strcpy(why, kWhy);
    strncat(why, paths[i], bytes - sizeof kWhy);
    return 1;
  }
  if (is_lost) strcpy(why, "it has named too many files by its process id, or too far away");
  return is_lost;
}

/* ---- who makes something ---- */

/* Where such a call's folder and path are, among its words. */
static const struct maker {
  const char *name;
  short numbers[2], folder_at, path_at;
} kMakers[] = {
    {"mkdir", {-1, -1}, -1, 0},
    {"mkdirat", {SYS_mkdirat, -1}, 0, 1},
    {"mknod", {-1, -1}, -1, 0},
    {"mknodat", {SYS_mknodat, -1}, 0, 1},
    {"mkfifo", {-1, -1}, -1, 0},
    {"mkfifoat", {-1, -1}, 0, 1},
    {"rename", {-1, -1}, -1, 1},
    {"renameat", {SYS_renameat, -1}, 2, 3},
    {"renameat2", {SYS_renameat2, -1}, 2, 3},
    {"link", {-1, -1}, -1, 1},
    {"linkat", {SYS_linkat, -1}, 2, 3},
    {"symlink", {-1, -1}, -1, 1},
    {"symlinkat", {SYS_symlinkat, -1}, 1, 2},
#ifdef SYS_mkdir
    {"", {SYS_mkdir, SYS_mknod}, -1, 0},
    {"", {SYS_rename, SYS_link}, -1, 1},
    {"", {SYS_symlink, -1}, -1, 1},
#endif
};

static void see(const struct maker *maker, const long *words) {
  int folder = maker->folder_at < 0 ? AT_FDCWD : (int)words[maker->folder_at];
  named_files_see(folder, (const char *)words[maker->path_at]);
}

void named_files_see_number(long number, const long *words) {
  if (number < 0) return; /* no call: its words are no paths */
  for (size_t i = 0; i < sizeof kMakers / sizeof *kMakers; ++i) {
    const struct maker *maker = &kMakers[i];
    if (maker->numbers[0] == number || maker->numbers[1] == number) see(maker, words);
  }
}

/* Where something is, no folder is made: programs that need one do not ask first. */
static int makes_no_folder(const struct passed_call *call, const long *arguments) {
  struct stat status;
  int is_in = strcmp(call->name, "mkdirat") == 0;
  if (!state.load.is_on || (!is_in && strcmp(call->name, "mkdir") != 0)) return 0;
  int folder = is_in ? (int)arguments[0] : AT_FDCWD;
  const char *path = (const char *)arguments[is_in];
  if (!may_be_memory(path)) return 0;
  if (raw_call(SYS_newfstatat, folder, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  lookups_see_look(folder, path, caller_of(arguments));
  return 1;
}

void *look_at_maker(const struct passed_call *call, const long *arguments) {
  for (size_t i = 0; i < sizeof kMakers / sizeof *kMakers; ++i) {
    if (strcmp(kMakers[i].name, call->name) == 0) see(&kMakers[i], arguments);
  }
  return makes_no_folder(call, arguments) ? NULL : look_at_change(call, arguments);
}
