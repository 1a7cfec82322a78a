/* A program that execs another one before its checkpoint is a wrapper (an `env`-like script that
 * picks an interpreter, or an adapter that starts over): then the other one is the zygote, so it
 * gets the launch variables and the channel. At the level `linked` the wrapper itself is the
 * program. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checkpoint.h"

enum { kEnvironmentMax = 1024 };

/* Functions that are bound at the first call would be bound again in each request. */
static char kBindNow[] = "LD_BIND_NOW=1";

static int is_before_checkpoint(void) {
  return state.role == ROLE_ZYGOTE && state.level != LEVEL_LINKED && getpid() == state.pid;
}

static int exec_as_zygote(const char *path, char *const argv[], char *const envp[]) {
  char *entries[kEnvironmentMax];
  char checkpoint[kLaunchWordsMax + 128];
  size_t count = 0;
  /* Where the first of them was started; placed before the name, which is the last word. */
  int is_told = strncmp(state.launch_words, "from=", 5) == 0;
  char from[64] = "";
  if (!is_told) {
    snprintf(from, sizeof from, "from=%llx:%llx ", (unsigned long long)state.folder.st_dev,
             (unsigned long long)state.folder.st_ino);
  }
  snprintf(checkpoint, sizeof checkpoint, "%s=fd=%d %s%s", MESSAGE_CHECKPOINT_VARIABLE,
           state.channel, from, state.launch_words);
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
  long result = syscall(SYS_execve, path, argv, entries);
  int failure = errno;
  load_watch_catch_streams();
  fcntl(state.channel, F_SETFD, FD_CLOEXEC);
  errno = failure;
  return (int)result;
}

static int exec_really(const char *name, const char *path, char *const argv[]) {
  int (*real)(const char *, char *const[]) =
      (int (*)(const char *, char *const[]))dlsym(RTLD_NEXT, name);
  if (real != NULL) return real(path, argv);
  errno = ENOSYS;
  return -1;
}

/* For Perl's exec, and others': libc's own execv() would call libc's own execve(). */
INTERPOSED int execv(const char *path, char *const argv[]) {
  if (is_before_checkpoint()) return exec_as_zygote(path, argv, environ);
  return exec_really("execv", path, argv);
}

INTERPOSED int execvp(const char *file, char *const argv[]) {
  if (is_before_checkpoint() && strchr(file, '/') != NULL)
    return exec_as_zygote(file, argv, environ);
  return exec_really("execvp", file, argv);
}

INTERPOSED int execve(const char *path, char *const argv[], char *const envp[]) {
  if (is_before_checkpoint()) return exec_as_zygote(path, argv, envp);
  return (int)syscall(SYS_execve, path, argv, envp);
}
