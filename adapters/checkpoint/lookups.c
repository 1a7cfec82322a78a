/* What was read before the checkpoint, or looked for and not found: settings that a module reads
 * when it is loaded; a module in a folder that is searched first, one that is used if it is
 * installed, a file that switches something on. The bridge is told about these as about files that
 * were loaded: when one changes, or appears, a new generation starts. Reads of standard input,
 * which belongs to a request alone, are noticed as well. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checkpoint.h"
#include "rare_calls.h"
#include "raw_call.h"

static int is_watching(void) {
  return state.role == ROLE_ZYGOTE;
}

/* Paths that are nobody's files. */
static int is_no_file(const char *path) {
  static const char *const kBegin[] = {"/proc/", "/sys/", "/dev/", "/.cgibridge/"};
  if (strstr(path, "/ruby/preload=") != NULL) return 1; /* not a folder: a list for the adapter */
  for (size_t i = 0; i < sizeof kBegin / sizeof *kBegin; ++i) {
    if (strncmp(path, kBegin[i], strlen(kBegin[i])) == 0) return 1;
  }
  return 0;
}

/* Several threads may be here at once: Node's. */
static void note_path(const char *path) {
  struct lookups *lookups = &state.lookups;
  char folder[1024] = "";
  if (path == NULL || path[0] == '\0' || strchr(path, '\n') != NULL || is_no_file(path)) return;
  if (path[0] != '/') {
    long length = syscall(SYS_getcwd, folder, sizeof folder - 1);
    if (length <= 0 || folder[0] != '/') return;
    strcat(folder, "/");
  }
  size_t bytes = strlen(folder) + strlen(path) + 1;
  while (__atomic_test_and_set(&lookups->is_held, __ATOMIC_ACQUIRE)) {
  }
  if (lookups->bytes + bytes + 1 > sizeof lookups->lines) {
    lookups->is_full = 1;
  } else {
    char *end = stpcpy(stpcpy(lookups->lines + lookups->bytes, folder), path);
    *end = '\n';
    lookups->bytes += bytes;
  }
  __atomic_clear(&lookups->is_held, __ATOMIC_RELEASE);
}

static int looked(int result, const char *path) {
  if (result < 0 && is_watching() && (errno == ENOENT || errno == ENOTDIR)) {
    int failure = errno;
    note_path(path);
    errno = failure;
  }
  return result;
}

/* Python compares the time in its compiled file with that of the source, which its adapter reports;
 * and it may rewrite the compiled file. */
static int is_compiled_text(const char *path) {
  const char *end = strrchr(path, '.');
  return end != NULL && strcmp(end, ".pyc") == 0;
}

void lookups_see_open(int directory, const char *path, int flags) {
  struct stat status;
  if (!is_watching() || path == NULL || (directory != AT_FDCWD && path[0] != '/')) return;
  if ((flags & (O_ACCMODE | O_CREAT | O_TRUNC | O_PATH)) != O_RDONLY) return;
  long result = raw_call(SYS_newfstatat, AT_FDCWD, path, &status, 0);
  int is_read = result == 0 && S_ISREG(status.st_mode) && !is_compiled_text(path);
  int failure = errno;
  if (is_read || result == -ENOENT || result == -ENOTDIR) note_path(path);
  errno = failure;
}

int lookups_see_input(void) {
  /* libc's own streams do not read by a function of ours; but the null device ends at once. */
  return state.lookups.input_was_read || feof(stdin);
}

int lookups_left_folder(void) {
  struct stat folder;
  return stat(".", &folder) != 0 || folder.st_ino != state.folder.st_ino ||
         folder.st_dev != state.folder.st_dev;
}

void lookups_tell(void) {
  struct lookups *lookups = &state.lookups;
  static const char kFull[] = "reads or looks for more files than can be watched";
  note_path("/etc/localtime"); /* which libc reads without a call that could be seen */
  if (lookups->bytes > 0) channel_note(NOTE_FILE, lookups->lines, lookups->bytes - 1);
  if (lookups->is_full) channel_note(NOTE_WARNING, kFull, sizeof kFull - 1);
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
  return looked(real_stat(path, status), path);
}

INTERPOSED int stat64(const char *restrict path, struct stat64 *restrict status) {
  if (real_stat64 == NULL) return (int)STAT(path, status);
  return looked(real_stat64(path, status), path);
}

static int has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

INTERPOSED int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = has_mode(flags) ? va_arg(more, mode_t) : 0;
  va_end(more);
  note_open_of_load("open", path, flags, __builtin_return_address(0));
  note_open(AT_FDCWD, path, flags);
  lookups_see_open(AT_FDCWD, path, flags);
  return real_open != NULL ? real_open(path, flags, mode) : (int)OPEN(path, flags, mode);
}

INTERPOSED int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = has_mode(flags) ? va_arg(more, mode_t) : 0;
  va_end(more);
  note_open_of_load("open64", path, flags, __builtin_return_address(0));
  note_open(AT_FDCWD, path, flags);
  lookups_see_open(AT_FDCWD, path, flags);
  return real_open64 != NULL ? real_open64(path, flags, mode) : (int)OPEN(path, flags, mode);
}

INTERPOSED int access(const char *path, int mode) {
  if (real_access == NULL) return (int)call_result(raw_call(SYS_faccessat, AT_FDCWD, path, mode));
  return looked(real_access(path, mode), path);
}

INTERPOSED ssize_t read(int fd, void *buffer, size_t bytes) {
  if (fd == 0 && is_watching() && getpid() == state.pid) state.lookups.input_was_read = 1;
  if (fd == 0) load_watch_note(IMPURE_INPUT, "read", __builtin_return_address(0));
  if (real_read == NULL) return call_result(raw_call(SYS_read, fd, buffer, bytes));
  return real_read(fd, buffer, bytes);
}
