/* What was read before the checkpoint, looked at, or looked for and not found: settings that a
 * module reads when it is loaded, the listing of a folder of such; a file whose age it compares; a
 * module in a folder that is searched first, one that is used if it is installed, a file that
 * switches something on. The bridge learns about these as about files that were loaded: when one
 * changes, vanishes or appears, a new generation starts. Reads of standard input, which belongs to
 * a request alone, are noticed as well. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/clean.h"
#include "calls/passed_calls.h"
#include "calls/rare_calls.h"
#include "checkpoint.h"
#include "load/inserted.h"
#include "load/note_lock.h"
#include "load/trial.h"
#include "message/path_sum.h"
#include "raw_call.h"

enum { kPathBytes = 1024 }; /* a longer one stays as it is */

static int is_watching(void) {
  return state.role == ROLE_ZYGOTE;
}

static int is_in_shared_memory(const char *path) {
  static const char kShared[] = "/dev/shm/"; /* files like any others */
  return strncmp(path, kShared, sizeof kShared - 1) == 0 && strstr(path, "/../") == NULL;
}

/* Paths that are nobody's files. */
static int is_no_file(const char *path) {
  static const char *const kBegin[] = {"/proc/", "/sys/", "/dev/", "/.cgibridge/"};
  if (strstr(path, "/ruby/preload=") != NULL) return 1; /* not a folder: a list for the adapter */
  if (is_in_shared_memory(path)) return 0;
  for (size_t i = 0; i < sizeof kBegin / sizeof *kBegin; ++i) {
    if (strncmp(path, kBegin[i], strlen(kBegin[i])) == 0) return 1;
  }
  return 0;
}

/* The path that means the same to the bridge: of one that begins in another folder than the current
 * one, or that goes through /proc or /dev to somebody's file (/proc/self/cwd/settings). A path that
 * leads nowhere stays as it is. */
static const char *path_for_all(int directory, const char *path, char text[kPathBytes]) {
  if (path[0] != '/' && directory != AT_FDCWD) {
    long length = path_of_open_file(directory, text, kPathBytes);
    if (length <= 0 || text[0] != '/' || (size_t)length + strlen(path) + 2 > kPathBytes)
      return path;
    strcpy(stpcpy(text + length, "/"), path);
    path = text;
  }
  if (path[0] != '/' || !is_no_file(path)) return path;
  long fd = raw_call(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
  if (fd < 0) return path;
  char found[kPathBytes];
  long length = path_of_open_file(fd, found, sizeof found);
  raw_call(SYS_close, fd);
  if (length <= 0 || found[0] != '/') return path;
  return strcpy(text, found);
}

/* What packages install: if a program makes use of it, it reads it as well. */
static int is_installed(const char *path) {
  static const char *const kBegin[] = {"/usr/lib", "/usr/share/", "/lib"};
  for (size_t i = 0; i < sizeof kBegin / sizeof *kBegin; ++i) {
    if (strncmp(path, kBegin[i], strlen(kBegin[i])) == 0) return 1;
  }
  return 0;
}

/* Whether the line is new; once the table is full, every line counts as new. */
static int is_new(unsigned *known, unsigned sum) {
  if (sum == 0) sum = 1;
  for (unsigned i = 0; i < 64; ++i) {
    unsigned *place = &known[(sum + i) % kKnownPaths];
    if (*place == sum) return 0;
    if (*place == 0) {
      *place = sum;
      return 1;
    }
  }
  return 1;
}

void lookups_mind_restless(const char *sums) {
  char *end = NULL;
  for (int i = 0; i < kRestlessMax; ++i, sums = end + 1) {
    state.lookups.restless[i] = (unsigned)strtoul(sums, &end, 16);
    if (*end != ',') return;
  }
}

static int is_restless(unsigned sum) {
  for (int i = 0; i < kRestlessMax; ++i) {
    if (state.lookups.restless[i] == sum) return sum != 0;
  }
  return 0;
}

int lookups_are_restless(const char *path) {
  return is_restless(path_sum(path, strlen(path)));
}

/* Several threads may be here at once: Node's. */
static void note_path(struct path_list *list, const char *path, const char *end,
                      const void *caller) {
  struct lookups *lookups = &state.lookups;
  char folder[1024] = "";
  if (path == NULL || path[0] == '\0' || strchr(path, '\n') != NULL || is_no_file(path)) return;
  unsigned sum = 0;
  if (path[0] != '/') {
    long length = syscall(SYS_getcwd, folder, sizeof folder - 1);
    if (length <= 0 || folder[0] != '/') return;
    strcat(folder, "/");
  }
  size_t path_bytes = strlen(path); /* without slashes at the end */
  while (path_bytes > 1 && path[path_bytes - 1] == '/') --path_bytes;
  size_t bytes = strlen(folder) + path_bytes + strlen(end);
  uint64_t mask;
  if (note_lock_take(&lookups->is_held, &mask) != 0) return;
  if (list->bytes + bytes + 2 > list->most) {
    list->is_full = 1;
  } else {
    char *line = list->lines + list->bytes;
    stpcpy(mempcpy(stpcpy(line, folder), path, path_bytes), end);
    line[bytes] = '\n';
    sum = path_sum(line, bytes);
    if (is_new(lookups->known, sum)) list->bytes += bytes + 1;
  }
  note_lock_give_back(&lookups->is_held, &mask);
  if (is_restless(sum)) load_watch_note(IMPURE_RESTLESS, path, caller);
}

/* Python compares the time in its compiled file with that of the source, which its adapter reports;
 * and it may rewrite the compiled file. */
static int is_compiled_text(const char *path) {
  const char *end = strrchr(path, '.');
  return end != NULL && strcmp(end, ".pyc") == 0;
}

static int is_missing(long result) {
  return result == -ENOENT || result == -ENOTDIR;
}

/* For a folder or a socket only its existence counts: its times change with each use. */
void lookups_see_look(int directory, const char *path, const void *caller) {
  struct stat status;
  char text[kPathBytes];
  clean_note_path(path);
  if (!is_watching() || !may_be_memory(path) || path[0] == '\0') return;
  if (is_of_this_library(caller)) return;
  path = path_for_all(directory, path, text);
  if (path[0] != '/' && directory != AT_FDCWD) return;
  trial_see_path(path);
  int failure = errno;
  long result = raw_call(SYS_newfstatat, AT_FDCWD, path, &status, 0);
  if (is_missing(result)) note_path(&state.lookups.read, path, "", caller);
  if (result == 0 && !is_installed(path) && !is_compiled_text(path)) {
    note_path(&state.lookups.looked, path, S_ISREG(status.st_mode) ? "" : "/", caller);
  }
  if (result == 0 && load_place_asks_age()) load_watch_note(IMPURE_TIME, "-M", caller);
  errno = failure;
}

void lookups_see_folder(const char *path, const void *caller) {
  char text[kPathBytes];
  clean_note_path(path);
  if (!is_watching() || !may_be_memory(path)) return;
  if (!is_of_this_library(caller)) trial_see_path(path);
  int failure = errno;
  note_path(&state.lookups.read, path_for_all(AT_FDCWD, path, text), "", caller);
  errno = failure;
}

/* What Python's own `site` runs before an adapter can be asked: the machine's or the user's code.
 */
static int is_run_by_site(const char *path) {
  const char *slash = strrchr(path, '/'), *end = strrchr(path, '.');
  const char *name = slash != NULL ? slash + 1 : path;
  return strncmp(name, "sitecustomize.", 14) == 0 || strncmp(name, "usercustomize.", 14) == 0 ||
         (end != NULL && strcmp(end, ".pth") == 0);
}

void lookups_see_open(int directory, const char *path, int flags, const void *caller) {
  struct stat status;
  char text[kPathBytes];
  if (!is_watching() || !may_be_memory(path) || path[0] == '\0') return;
  path = path_for_all(directory, path, text);
  if (path[0] != '/' && directory != AT_FDCWD) return;
  if (!is_of_this_library(caller)) trial_see_path(path);
  int is_early = state.level == LEVEL_COMPILED && state.call.phase == CALL_UNOPENED;
  if (is_early && !state.load.is_on && is_run_by_site(path)) load_watch_begin("");
  if ((flags & (O_ACCMODE | O_CREAT | O_TRUNC | O_PATH)) != O_RDONLY) return;
  int failure = errno;
  long result = raw_call(SYS_newfstatat, AT_FDCWD, path, &status, 0);
  int is_file = result == 0 && S_ISREG(status.st_mode) && !is_compiled_text(path);
  int is_folder = result == 0 && S_ISDIR(status.st_mode) && (flags & O_DIRECTORY) != 0;
  if (is_file || is_folder || is_missing(result)) {
    note_path(&state.lookups.read, path, "", caller);
  }
  errno = failure;
}

/* All lines with this path, or that begin so. The bridge ignores a line that is not an absolute
 * path. */
static void forget(struct path_list *list, const char *path, size_t length, int and_below) {
  for (char *line = list->lines; line < list->lines + list->bytes;) {
    char *end = memchr(line, '\n', (size_t)(list->lines + list->bytes - line));
    size_t bytes = (size_t)(end - line);
    int is_it = bytes == length || (and_below && bytes > length && line[length] == '/');
    if (is_it && memcmp(line, path, length) == 0) *line = '-';
    line = end + 1;
  }
}

static void forget_below(const char *path) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') --length;
  forget(&state.lookups.read, path, length, 1);
  forget(&state.lookups.looked, path, length, 1);
}

/* A file that was opened by the folder's descriptor is known by the folder's own path. */
static void forget_files(const char *path) {
  char own[kPathBytes];
  long folder = raw_call(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
  if (folder >= 0 && path_of_open_file(folder, own, sizeof own) > 0) forget_below(own);
  if (folder >= 0) raw_call(SYS_close, folder);
  forget_below(path);
}

static void forget_folders(const char *paths) {
  while (*paths != '\0') {
    size_t line = strcspn(paths, "\n"), length = line;
    while (length > 1 && paths[length - 1] == '/') --length; /* as note_path() */
    if (length > 0) forget(&state.lookups.read, paths, length, 0);
    paths += line + (paths[line] == '\n');
  }
}

int lookups_leave_out(const char *call) {
  static const char kFolders[] = "own-folders/", kFiles[] = "own-files/";
  if (strncmp(call, kFolders, sizeof kFolders - 1) == 0) {
    forget_folders(call + sizeof kFolders - 1);
    return 1;
  }
  if (strncmp(call, kFiles, sizeof kFiles - 1) != 0) return 0;
  forget_files(call + sizeof kFiles - 1);
  return 1;
}

int lookups_see_input(void) {
  /* libc's own streams do not read through a function of ours; but the null device ends at once. */
  return state.lookups.input_was_read || feof(stdin);
}

int lookups_left_folder(void) {
  struct stat folder;
  return stat(".", &folder) != 0 || folder.st_ino != state.folder.st_ino ||
         folder.st_dev != state.folder.st_dev;
}

static void tell(const struct path_list *list, const char *when_full) {
  if (list->bytes > 0) channel_note(NOTE_FILE, list->lines, list->bytes - 1);
  if (list->is_full) channel_note(NOTE_WARNING, when_full, strlen(when_full));
}

void lookups_tell(void) {
  /* libc reads it, and nobody sees that. */
  note_path(&state.lookups.read, "/etc/localtime", "", NULL);
  tell(&state.lookups.read, "reads or looks for more files than can be watched");
  tell(&state.lookups.looked, "looks at more files than can be watched");
}

typedef int stat_function(const char *, struct stat *);
typedef int stat64_function(const char *, struct stat64 *);
typedef int open_function(const char *, int, ...);
typedef int access_function(const char *, int);
typedef ssize_t read_function(int, void *, size_t);

static stat_function *real_stat;
static stat64_function *real_stat64;
static open_function *real_open, *real_open64;
static access_function *real_access;
static read_function *real_read;

/* All at once and early: dlsym() would write to memory that a rewind is about to put back. */
void lookups_begin(void) {
  struct lookups *lookups = &state.lookups;
  lookups->read = (struct path_list){lookups->read_lines, 0, sizeof lookups->read_lines, 0};
  lookups->looked = (struct path_list){lookups->looked_lines, 0, sizeof lookups->looked_lines, 0};
  real_stat = (stat_function *)dlsym(RTLD_NEXT, "stat");
  real_stat64 = (stat64_function *)dlsym(RTLD_NEXT, "stat64");
  real_open = (open_function *)dlsym(RTLD_NEXT, "open");
  real_open64 = (open_function *)dlsym(RTLD_NEXT, "open64");
  real_access = (access_function *)dlsym(RTLD_NEXT, "access");
  real_read = (read_function *)dlsym(RTLD_NEXT, "read");
}

/* For calls that come before our constructor, from an allocator in another library. */
#define STAT(path, status) call_result(raw_call(SYS_newfstatat, AT_FDCWD, path, status, 0))
#define OPEN(path, flags, mode) \
  call_result(raw_call(SYS_openat, AT_FDCWD, path, (flags) | O_LARGEFILE, mode))

INTERPOSED int stat(const char *restrict path, struct stat *restrict status) {
  if (real_stat == NULL) return (int)STAT(path, status);
  answers_see_status("stat", AT_FDCWD, path, 0, __builtin_return_address(0));
  lookups_see_look(AT_FDCWD, path, __builtin_return_address(0));
  return real_stat(path, status);
}

INTERPOSED int stat64(const char *restrict path, struct stat64 *restrict status) {
  if (real_stat64 == NULL) return (int)STAT(path, status);
  answers_see_status("stat", AT_FDCWD, path, 0, __builtin_return_address(0));
  lookups_see_look(AT_FDCWD, path, __builtin_return_address(0));
  return real_stat64(path, status);
}

/* ---- what a request opens, in its order ---- */

enum { kOpenedMax = 32 * 1024 };
static char opened[kOpenedMax];
static struct opened_modules modules = {.lines = opened};

static void note_module(const char *path) {
  if (state.role != ROLE_ANSWERING || state.learn == LEARN_NONE || !may_be_memory(path)) return;
  size_t length = strlen(path);
  if (length < 4 || memcmp(path + length - 3, ".pm", 3) != 0) return;
  if (length + 1 > sizeof opened - modules.bytes) return;
  memcpy(opened + modules.bytes, path, length);
  opened[modules.bytes + length] = '\n';
  modules.bytes += length + 1;
}

struct opened_modules *lookups_opened_modules(void) {
  return &modules;
}

static int has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

INTERPOSED int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = has_mode(flags) ? va_arg(more, mode_t) : 0;
  va_end(more);
  note_open_of_load("open", AT_FDCWD, path, flags, __builtin_return_address(0));
  note_open(AT_FDCWD, path, flags);
  lookups_see_open(AT_FDCWD, path, flags, __builtin_return_address(0));
  note_module(path);
  int copy = inserted_open(path, flags);
  if (copy >= 0) return copy;
  return real_open != NULL ? real_open(path, flags, mode) : (int)OPEN(path, flags, mode);
}

INTERPOSED int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = has_mode(flags) ? va_arg(more, mode_t) : 0;
  va_end(more);
  note_open_of_load("open64", AT_FDCWD, path, flags, __builtin_return_address(0));
  note_open(AT_FDCWD, path, flags);
  lookups_see_open(AT_FDCWD, path, flags, __builtin_return_address(0));
  note_module(path);
  int copy = inserted_open(path, flags);
  if (copy >= 0) return copy;
  return real_open64 != NULL ? real_open64(path, flags, mode) : (int)OPEN(path, flags, mode);
}

INTERPOSED int access(const char *path, int mode) {
  if (real_access == NULL) return (int)call_result(raw_call(SYS_faccessat, AT_FDCWD, path, mode));
  lookups_see_look(AT_FDCWD, path, __builtin_return_address(0));
  return real_access(path, mode);
}

INTERPOSED ssize_t read(int fd, void *buffer, size_t bytes) {
  if (fd == 0 && is_watching() && getpid() == state.pid) state.lookups.input_was_read = 1;
  answers_see_input("read", fd, __builtin_return_address(0));
  const long words[] = {fd, (long)buffer, (long)bytes};
  go_threads_see_c_call(SYS_read, words);
  if (real_read == NULL) return call_result(raw_call(SYS_read, fd, buffer, bytes));
  return real_read(fd, buffer, bytes);
}
