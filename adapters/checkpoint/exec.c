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

/* Functions that are bound at the first call would be bound again in each request. */
static char kBindNow[] = "LD_BIND_NOW=1";

static int is_before_checkpoint(void) {
  return state.role == ROLE_ZYGOTE && state.level != LEVEL_LINKED && getpid() == state.pid;
}

typedef int exec_function(const char *path, char *const argv[], char *const envp[]);

static int exec_by_kernel(const char *path, char *const argv[], char *const envp[]) {
  return (int)syscall(SYS_execve, path, argv, envp);
}

static int exec_as_zygote(exec_function *exec, const char *path, char *const argv[],
                          char *const envp[]) {
  char *entries[kEnvironmentMax];
  char checkpoint[kLaunchWordsMax + 128];
  size_t count = 0;
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
  int result = exec(path, argv, entries);
  int failure = errno;
  load_watch_catch_streams();
  fcntl(state.channel, F_SETFD, FD_CLOEXEC);
  errno = failure;
  return result;
}

static int exec_now(const char *path, char *const argv[], char *const envp[]) {
  cycles_leave();
  if (is_before_checkpoint()) return exec_as_zygote(exec_by_kernel, path, argv, envp);
  hand_over(path, argv, envp);
  return (int)call_result(libc_call(SYS_execve, path, argv, envp));
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

static int exec_found(const char *file, char *const argv[], char *const envp[]) {
  cycles_leave();
  /* libc looks for a plain name, as in #!/usr/bin/env perl, and calls its own execve(). */
  if (is_before_checkpoint() && REAL(execvpe) != NULL) {
    return exec_as_zygote(REAL(execvpe), file, argv, envp);
  }
  if (may_be_memory(file) && strchr(file, '/') != NULL) {
    hand_over(file, argv, envp);
  } else if (may_be_memory(file) && hand_over_is_possible()) {
    int failure = errno;
    hand_over_found(file, argv, envp);
    errno = failure;
  }
  if (REAL(execvpe) != NULL) return REAL(execvpe)(file, argv, envp);
  errno = ENOSYS;
  return -1;
}

/* For Perl's exec, and others': libc's own execv() would call libc's own execve(). */
INTERPOSED int execv(const char *path, char *const argv[]) {
  return exec_now(path, argv, environ);
}

INTERPOSED int execve(const char *path, char *const argv[], char *const envp[]) {
  return exec_now(path, argv, envp);
}

INTERPOSED int execvp(const char *file, char *const argv[]) {
  return exec_found(file, argv, environ);
}

INTERPOSED int execvpe(const char *file, char *const argv[], char *const envp[]) {
  return exec_found(file, argv, envp);
}

/* By a folder's descriptor, or a file's own, the program would find another name of itself. */
static int is_at_path(int folder, const char *path, int flags) {
  return (flags & ~AT_EMPTY_PATH) == 0 && may_be_memory(path) &&
         (folder == AT_FDCWD || path[0] == '/');
}

INTERPOSED int execveat(int folder, const char *path, char *const argv[], char *const envp[],
                        int flags) {
  cycles_leave();
  if (is_at_path(folder, path, flags)) hand_over(path, argv, envp);
  return (int)call_result(libc_call(SYS_execveat, folder, path, argv, envp, flags));
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
static int exec_listed(int (*exec)(const char *, char *const[], char *const[]), const char *path,
                       const char *first, va_list *more, int brings_environment) {
  size_t count = words_of(first, *more);
  char *words[count];
  words[0] = (char *)(uintptr_t)first;
  for (size_t i = 1; i < count; ++i) words[i] = va_arg(*more, char *);
  return exec(path, words, brings_environment ? va_arg(*more, char *const *) : environ);
}

INTERPOSED int execl(const char *path, const char *first, ...) {
  va_list more;
  va_start(more, first);
  int result = exec_listed(exec_now, path, first, &more, 0);
  va_end(more);
  return result;
}

INTERPOSED int execlp(const char *file, const char *first, ...) {
  va_list more;
  va_start(more, first);
  int result = exec_listed(exec_found, file, first, &more, 0);
  va_end(more);
  return result;
}

INTERPOSED int execle(const char *path, const char *first, ...) {
  va_list more;
  va_start(more, first);
  int result = exec_listed(exec_now, path, first, &more, 1);
  va_end(more);
  return result;
}
