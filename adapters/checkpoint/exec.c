/* A program that execs another one before its checkpoint is a wrapper (an `env`-like script that
 * picks an interpreter, or an adapter that starts over): then the other one is the zygote, so it
 * gets the launch variables and the channel. At the level `linked` the wrapper itself is the
 * program. In a request, a warm worker of the other program may take its place (hand_over.h). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/clean.h"
#include "calls/rare_calls.h"
#include "calls/real_calls.h"
#include "checkpoint.h"
#include "rewind/hand_over.h"
#include "rewind/kept_at_exec.h"

enum { kEnvironmentMax = 1024 };

#define LIBRARY_NAME "/libcgibridge_checkpoint.so"

/* Functions that are bound at the first call would be bound again in each request. */
static char kBindNow[] = "LD_BIND_NOW=1";

static int is_before_checkpoint(void) {
  return state.role == ROLE_ZYGOTE && state.level != LEVEL_LINKED && getpid() == state.pid;
}

/* What is executed: a file by its path and its folder's descriptor, or by its own descriptor; or
 * what libc finds on the PATH. */
struct executed {
  int folder, flags;
  const char *path;
  int is_searched;
  const void *caller;
};

/* By whoever has called the function in which this is. */
#define EXECUTED_AT(in, name, how) \
  (&(const struct executed){       \
      .folder = (in), .path = (name), .flags = (how), .caller = __builtin_return_address(0)})
#define EXECUTED(name) EXECUTED_AT(AT_FDCWD, name, 0)
#define SEARCHED(name)       \
  (&(const struct executed){ \
      .path = (name), .is_searched = 1, .caller = __builtin_return_address(0)})

static long execute(const struct executed *file, char *const argv[], char *const envp[]) {
  if (file->is_searched) {
    if (REAL(execvpe) == NULL) return -ENOSYS;
    return REAL(execvpe)(file->path, argv, envp) == 0 ? 0 : -errno;
  }
  if (file->folder == AT_FDCWD && file->flags == 0)
    return libc_call(SYS_execve, file->path, argv, envp);
  return libc_call(SYS_execveat, file->folder, file->path, argv, envp, file->flags);
}

/* The bridge's words for an adapter name its folder: by an argument, or by Tcl's variable. A
 * program that does not get them would run for nobody. */
static int has_adapter(char *const words[]) {
  char folder[PATH_MAX];
  const char *library = strstr(state.preload_text, LIBRARY_NAME), *begin = library;
  while (begin != NULL && begin > state.preload_text && strchr("=: ", begin[-1]) == NULL) --begin;
  if (begin == NULL || begin == library || library - begin >= PATH_MAX) return 0;
  memcpy(folder, begin, (size_t)(library - begin));
  folder[library - begin] = '\0';
  for (; may_be_memory(words) && *words != NULL; ++words) {
    int is_preload = strncmp(*words, "LD_PRELOAD=", 11) == 0;
    if (!is_preload && strstr(*words, folder) != NULL) return 1;
  }
  return 0;
}

/* Once its adapter runs, only that starts a process over; the program's own execution belongs to a
 * request. A wrapper comes before, and must hand on what each request's process would get: its
 * requests do not pass by it. */
static void refuse_what_is_no_wrapper(char *const argv[], char *const envp[], const void *caller) {
  char what[128], reason[kReasonMax];
  if (state.call.phase == CALL_OVER) return;
  if (state.call.phase != CALL_UNOPENED) {
    load_watch_note(IMPURE_CHILDREN, "exec", caller);
    checkpoint_refuse("executes another program while it is loaded");
  }
  if (!has_adapter(argv) && !has_adapter(envp))
    checkpoint_refuse("executes another program before its checkpoint");
  if (environment_is_as_launched(envp, what, sizeof what)) return;
  snprintf(reason, sizeof reason, "executes a program in another environment: %s", what);
  checkpoint_refuse(reason);
}

static int exec_as_zygote(const struct executed *file, char *const argv[], char *const envp[]) {
  char *entries[kEnvironmentMax];
  char checkpoint[kLaunchWordsMax + 128];
  size_t count = 0;
  refuse_what_is_no_wrapper(argv, envp, file->caller);
  /* Where the first of them was started; placed before the name, which is the last word. */
  const char *words = state.launch_words;
  const char *changed = kept_is_as_at_start_of_load() ? "" : "changed ";
  if (strncmp(words, "changed ", 8) == 0) words += 8;
  int is_told = strncmp(words, "from=", 5) == 0;
  char from[64] = "";
  if (!is_told) {
    snprintf(from, sizeof from, "from=%llx:%llx ", (unsigned long long)state.folder.st_dev,
             (unsigned long long)state.folder.st_ino);
  }
  snprintf(checkpoint, sizeof checkpoint, "%s=fd=%d %s%s%.*s", MESSAGE_CHECKPOINT_VARIABLE,
           state.channel, changed, from, kLaunchWordsMax - 1, words);
  entries[count++] = checkpoint;
  entries[count++] = state.preload_text;
  if (state.binds_early) entries[count++] = kBindNow;
  for (; envp != NULL && *envp != NULL; ++envp) {
    if (strncmp(*envp, "LD_PRELOAD=", 11) == 0) continue;
    if (count == kEnvironmentMax - 1) {
      errno = E2BIG;
      return -1;
    }
    entries[count++] = *envp;
  }
  entries[count] = NULL;
  fcntl(state.channel, F_SETFD, 0);
  load_watch_release_streams();
  long failure = execute(file, argv, entries);
  load_watch_catch_streams();
  fcntl(state.channel, F_SETFD, FD_CLOEXEC);
  return (int)call_result(failure);
}

/* execvp() in a request: the file that it will find first. */
static void hand_over_found(const char *name, char *const argv[], char *const envp[]) {
  char path[PATH_MAX];
  const char *folders = getenv("PATH");
  while (folders != NULL && folders[0] == '/') {
    size_t bytes = strcspn(folders, ":");
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)bytes, folders, name);
    if (length >= (int)sizeof path) return;
    if (access(path, X_OK) == 0) return hand_over(path, argv, envp);
    folders += bytes;
    if (*folders == ':') ++folders;
  }
}

/* By a folder's descriptor, or a file's own, the program would find another name of itself. */
static int is_at_path(int folder, const char *path, int flags) {
  return (flags & ~AT_EMPTY_PATH) == 0 && may_be_memory(path) &&
         (folder == AT_FDCWD || path[0] == '/');
}

static void hand_over_file(const struct executed *file, char *const argv[], char *const envp[]) {
  const char *path = file->path;
  int has_place = !file->is_searched || (may_be_memory(path) && strchr(path, '/') != NULL);
  int folder = file->is_searched ? AT_FDCWD : file->folder;
  if (has_place && is_at_path(folder, path, file->flags)) {
    hand_over(path, argv, envp);
  } else if (!has_place && may_be_memory(path) && hand_over_is_possible()) {
    int failure = errno;
    hand_over_found(path, argv, envp);
    errno = failure;
  }
}

static int exec_file(const struct executed *file, char *const argv[], char *const envp[]) {
  cycles_leave(); /* another program begins without a handler, and would fail */
  if (is_before_checkpoint()) return exec_as_zygote(file, argv, envp);
  load_watch_note(IMPURE_CHILDREN, "exec", file->caller); /* a constructor's */
  hand_over_file(file, argv, envp);
  return (int)call_result(execute(file, argv, envp));
}

/* For Perl's exec, and others': libc's own execv() would call libc's own execve(). */
INTERPOSED int execv(const char *path, char *const argv[]) {
  return exec_file(EXECUTED(path), argv, environ);
}

INTERPOSED int execve(const char *path, char *const argv[], char *const envp[]) {
  return exec_file(EXECUTED(path), argv, envp);
}

INTERPOSED int execvp(const char *file, char *const argv[]) {
  return exec_file(SEARCHED(file), argv, environ);
}

INTERPOSED int execvpe(const char *file, char *const argv[], char *const envp[]) {
  return exec_file(SEARCHED(file), argv, envp);
}

INTERPOSED int execveat(int folder, const char *path, char *const argv[], char *const envp[],
                        int flags) {
  return exec_file(EXECUTED_AT(folder, path, flags), argv, envp);
}

INTERPOSED int fexecve(int fd, char *const argv[], char *const envp[]) {
  if (fd < 0 || !may_be_memory(argv) || !may_be_memory(envp)) return (int)call_result(-EINVAL);
  return exec_file(EXECUTED_AT(fd, "", AT_EMPTY_PATH), argv, envp);
}

/* ---- by number ---- */

int exec_by_number(long number, const long *words, const void *caller, long *result) {
  struct executed file = {.folder = AT_FDCWD, .caller = caller};
  if ((number != SYS_execve && number != SYS_execveat) || !is_before_checkpoint()) return 0;
  if (number == SYS_execveat) {
    file.folder = (int)*words++;
    file.flags = (int)words[3];
  }
  file.path = (const char *)words[0];
  *result = exec_as_zygote(&file, (char *const *)words[1], (char *const *)words[2]);
  return 1;
}

/* The words of execve(), or NULL. */
static const long *words_by_path(long number, const long *words) {
  if (number == SYS_execve) return words;
  if (number != SYS_execveat) return NULL;
  return is_at_path((int)words[0], (const char *)words[1], (int)words[4]) ? words + 1 : NULL;
}

void hand_over_by_number(long number, const long *words) {
  words = words_by_path(number, words);
  if (words == NULL) return;
  hand_over((const char *)words[0], (char *const *)words[1], (char *const *)words[2]);
}

void hand_over_trapped(long number, const long *words, uint64_t mask) {
  words = words_by_path(number, words);
  if (words == NULL) return;
  hand_over_blocked((const char *)words[0], (char *const *)words[1], (char *const *)words[2], mask);
}

/* ---- words as arguments ---- */

/* How many there are, with the NULL that ends them. */
static size_t words_of(const char *first, va_list more) {
  size_t count = 1;
  va_list rest;
  va_copy(rest, more);
  for (const char *word = first; word != NULL; ++count) word = va_arg(rest, const char *);
  va_end(rest);
  return count;
}

/* The environment comes after the words, or is the process's. */
static int exec_listed(const struct executed *file, const char *first, va_list *more,
                       int brings_environment) {
  size_t count = words_of(first, *more);
  char *words[count];
  words[0] = (char *)(uintptr_t)first;
  for (size_t i = 1; i < count; ++i) words[i] = va_arg(*more, char *);
  return exec_file(file, words, brings_environment ? va_arg(*more, char *const *) : environ);
}

INTERPOSED int execl(const char *path, const char *first, ...) {
  va_list more;
  va_start(more, first);
  int result = exec_listed(EXECUTED(path), first, &more, 0);
  va_end(more);
  return result;
}

INTERPOSED int execlp(const char *file, const char *first, ...) {
  va_list more;
  va_start(more, first);
  int result = exec_listed(SEARCHED(file), first, &more, 0);
  va_end(more);
  return result;
}

INTERPOSED int execle(const char *path, const char *first, ...) {
  va_list more;
  va_start(more, first);
  int result = exec_listed(EXECUTED(path), first, &more, 1);
  va_end(more);
  return result;
}
