/* What a library that is loaded ahead leaves in the process, and how to get rid of it. A script's
 * own compilation may leave anything, because it does so for each of its requests. But a library
 * may be one that only some of the requests load. */
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/load_effects.h"
#include "load/trial.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/threads.h"

static mode_t mask_now(void) {
  mode_t mask = (mode_t)raw_call(SYS_umask, 0);
  raw_call(SYS_umask, mask);
  return mask;
}

static const char *locale_now(void) {
  const char *locale = setlocale(LC_ALL, NULL);
  return locale != NULL ? locale : "";
}

void load_left_remember_start(void) {
  struct load_left *left = &state.load.left;
  left->mask_at_start = mask_now();
  left->priority_at_start = raw_call(SYS_getpriority, PRIO_PROCESS, 0);
  for (int i = 0; i < (int)RLIM_NLIMITS; ++i) {
    raw_call(SYS_prlimit64, 0, i, NULL, &left->limits_at_start[i]);
  }
  if (raw_call(SYS_getcwd, left->launched_in, sizeof left->launched_in) < 0) {
    left->launched_in[0] = '\0';
  }
}

void load_left_begin(void) {
  struct load_left *left = &state.load.left;
  left->mask = mask_now();
  left->has_interpreters_thread = 0;
  state.touched_signals = 0;
  left->touched |= state.touched;
  state.touched = 0;
  left->priority = raw_call(SYS_getpriority, PRIO_PROCESS, 0);
  strncpy(left->locale, locale_now(), sizeof left->locale - 1);
  descriptors_list(left->open);
}

/* Only a library's own threads count, not those that the interpreter started for a script: it
 * numbers them, and a fork ends them. */
static int threads_are_left(int may_rest, char *why, size_t why_bytes) {
  if (may_rest && !state.load.left.has_interpreters_thread) {
    return threads_rest(why, why_bytes) != 0;
  }
  snprintf(why, why_bytes, "it starts a thread");
  return 1;
}

static int is_interpreter(const void *code) {
  static const char *const kLibraries[] = {"/libpython", "/libruby", "/libperl", "/libtcl"};
  Dl_info object;
  if (dladdr(code, &object) == 0) return 1;
  for (size_t i = 0; i < sizeof kLibraries / sizeof *kLibraries; ++i) {
    if (strstr(object.dli_fname, kLibraries[i]) != NULL) return 1;
  }
  return (uintptr_t)getauxval(AT_PHDR) - (uintptr_t)object.dli_fbase < kPageSize;
}

void load_left_thread(const void *caller) {
  if (trial_sees_threads()) trial_end("starts a thread");
  if (state.role != ROLE_ZYGOTE || !is_interpreter(caller)) return;
  state.load.left.has_interpreters_thread = 1;
  state.load.interpreter_started_thread = 1;
}

const char *load_left(enum threads_left threads) {
  static char reason[kReasonMax + 48];
  const struct load_left *left = &state.load.left;
  static const char kUnfit[] = "leaves a process that cannot be copied: ";
  char *why = reason + sprintf(reason, "%s", kUnfit);
  const char *held = stillness_of_process();
  if (held != NULL) {
    strcpy(why, held);
    return reason;
  }
  if (mask_now() != left->mask) return "changes the mask of new files' modes";
  if (strncmp(locale_now(), left->locale, sizeof left->locale - 1) != 0)
    return "changes the locale";
  if (raw_call(SYS_getpriority, PRIO_PROCESS, 0) != left->priority) return "changes its priority";
  if ((state.touched & (TOUCHED_LIMITS | TOUCHED_SCHEDULE)) != 0) return "changes its limits";
  if ((state.touched & TOUCHED_THREADS) != 0 && threads != LEFT_THREADS_SEEN &&
      threads_are_left(threads == LEFT_THREADS_REST, why, kReasonMax) != 0) {
    return reason;
  }
  if (state.touched_signals != 0) return "sets what a signal does";
  if (descriptors_look_at_new(left->open, why, kReasonMax) != 0) return reason;
  return "";
}

/* ---- to start over ---- */

/* What an impure library has started should not have been started ahead of a request. */
static void end_children(void) {
  char text[512] = "";
  int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (bytes <= 0) return;
  char *at = text;
  for (long pid; (pid = strtol(at, &at, 10)) > 0;) {
    raw_call(SYS_kill, pid, SIGKILL);
    raw_call(SYS_wait4, pid, NULL, __WALL, NULL);
  }
}

/* A process that has lowered a limit may not be allowed to raise it again. That of processor time
 * is moved on in a worker (usage.h), for which it is no load's. */
static int take_back_limits(void) {
  const struct load_left *left = &state.load.left;
  int failures = raw_call(SYS_getpriority, PRIO_PROCESS, 0) != left->priority_at_start &&
                 raw_call(SYS_setpriority, PRIO_PROCESS, 0, 20 - left->priority_at_start) != 0;
  for (int i = 0; i < (int)RLIM_NLIMITS; ++i) {
    if (i == RLIMIT_CPU && state.role != ROLE_ZYGOTE) continue;
    failures += raw_call(SYS_prlimit64, 0, i, &left->limits_at_start[i], NULL) != 0;
  }
  return failures == 0 ? 0 : -1;
}

/* What cannot be taken back, the program does once more. */
void load_left_take_back(void) {
  raw_call(SYS_umask, state.load.left.mask_at_start);
  (void)take_back_limits();
}

void start_over_prepare(void) {
  load_effects_leave();
  const struct itimerval none = {0};
  state.call.phase = CALL_OVER;
  for (int timer = ITIMER_REAL; timer <= ITIMER_PROF; ++timer) {
    raw_call(SYS_setitimer, timer, &none, NULL);
  }
  raw_call(SYS_umask, state.load.left.mask_at_start);
  if (state.load.left.launched_in[0] == '/') (void)!chdir(state.load.left.launched_in);
  if (take_back_limits() != 0) {
    checkpoint_refuse("a library that is loaded ahead changes limits, which cannot be taken back");
  }
  end_children();
  load_watch_put_back_streams();
  descriptors_close_at_exec();
}

/* The kernel's copy of the words: an interpreter may have changed main()'s. */
static char **own_words(void) {
  enum { kWordsMax = 1024, kTextMax = 1 << 20 };
  static char *words[kWordsMax];
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  char *text = mmap(NULL, kTextMax, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t bytes = 0;
  if (file < 0 || text == MAP_FAILED) return NULL;
  for (ssize_t got;
       bytes < kTextMax - 1 && (got = read(file, text + bytes, kTextMax - 1 - bytes)) > 0;) {
    bytes += (size_t)got;
  }
  close(file);
  size_t count = 0;
  for (char *word = text; word < text + bytes; word += strlen(word) + 1) {
    if (count == kWordsMax - 1) return NULL;
    words[count++] = word;
  }
  return count > 0 ? words : NULL;
}

static int execute_again(char **words, char **variables) {
  char path[kFolderMax];
  long length = raw_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || words == NULL) return -1;
  path[length] = '\0';
  start_over_prepare();
  return execve(path, words, variables);
}

int start_over(void) {
  return execute_again(own_words(), environ);
}

/* Names with commas between them; in place. Whether it was there. */
static int leave_out(char *names, const char *name) {
  size_t length = strlen(name);
  for (char *at = names; *at != '\0'; at += *at == ',') {
    size_t found = strcspn(at, ",");
    if (found == length && memcmp(at, name, length) == 0) {
      char *rest = at + length + (at[length] == ',');
      if (*rest == '\0' && at > names) --at;
      memmove(at, rest, strlen(rest) + 1);
      return 1;
    }
    at += found;
  }
  return 0;
}

static int leave_out_of(char **texts, const char *list, const char *name) {
  size_t length = strlen(list);
  for (; texts != NULL && *texts != NULL; ++texts) {
    if (strncmp(*texts, list, length) == 0 && leave_out(*texts + length, name)) return 1;
  }
  return 0;
}

int start_over_without(const char *list, const char *name) {
  char **words = own_words(), **variables = environment_launched();
  if (variables == NULL) return -1;
  if (!leave_out_of(words, list, name) && !leave_out_of(variables, list, name)) return -1;
  return execute_again(words, variables);
}
