#include "load/trial.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/vfs.h>

#include "calls/rare_calls.h"
#include "fork.h"
#include "raw_call.h"
#include "rewind/engine.h"

enum { kTrialSeconds = 3, kMaskBytes = 8 };

static const char kBegin[] = TRIAL_VARIABLE "=";
static char entry[sizeof kBegin + kTrialBytes]; /* of the environment */
static int is_on, was_left, has_pool;

static void set_timer(long seconds) {
  const struct itimerval timer = {.it_value.tv_sec = seconds};
  raw_call(SYS_setitimer, ITIMER_REAL, &timer, NULL);
}

static void on_alarm(int number) {
  (void)number;
  uint64_t none = 0;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, kMaskBytes);
  if (is_on) trial_end("takes long");
}

/* A program that computes for long before it asks for anything is none that waits for a request. */
static void begin(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  load_watch_begin("");
  load_watch_count_output();
  strcpy(entry, kBegin);
  putenv(entry);
  sigaction(SIGALRM, &action, NULL);
  state.touched_signals = 0;
  is_on = 1;
}

void trial_mark(const char *how_far) {
  if (!is_on) begin();
  set_timer(kTrialSeconds);
  strncpy(entry + sizeof kBegin - 1, how_far, kTrialBytes / 2);
}

void trial_leave(void) {
  if (!is_on) return;
  is_on = 0;
  fork_handlers_leave_out_pools(0);
  set_timer(0);
  signal(SIGALRM, SIG_DFL);
  state.touched_signals = 0;
  unsetenv(TRIAL_VARIABLE);
  streams_remember();
  was_left = 1;
}

/* What no file system on a disk holds: what is read there may be another thing each time. */
static int is_kernels(const char *path) {
  enum { kSysfs = 0x62656572, kDebugfs = 0x64626720, kTracefs = 0x74726163 };
  struct statfs system;
  struct stat file;
  if (raw_call(SYS_statfs, path, &system) != 0) return 0;
  if (is_of_processes(&system) || system.f_type == kSysfs || system.f_type == kDebugfs ||
      system.f_type == kTracefs) {
    return 1;
  }
  if (raw_call(SYS_newfstatat, AT_FDCWD, path, &file, 0) != 0) return 0;
  int is_null = S_ISCHR(file.st_mode) && file.st_rdev == makedev(1, 3);
  return !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode) && !is_null;
}

void trial_see_path(const char *path) {
  char why[kTrialBytes];
  if (!is_on || !is_kernels(path)) return;
  snprintf(why, sizeof why, "looks at %.*s", kTrialBytes / 2, path);
  trial_end(why);
}

void trial_fall_back(const char *why) {
  if (!was_left) return;
  strcpy(entry + sizeof kBegin - 1, "0");
  putenv(entry);
  trial_end(why);
}

void trial_end_by_adapter(const char *why) {
  if (is_on) trial_end(why);
  trial_fall_back(why);
}

void trial_begin_pool(void) {
  has_pool = 1;
  fork_handlers_leave_out_pools(1);
}

int trial_sees_threads(void) {
  return is_on && !has_pool;
}

void trial_pause(void) {
  if (is_on) set_timer(0);
}

int trial_is_on(void) {
  return is_on;
}

int trial_was_left(void) {
  return was_left;
}

void trial_end(const char *why) {
  size_t length = strlen(entry);
  is_on = was_left = 0; /* what follows is not the program's */
  set_timer(0);
  strcat(entry, " ");
  strncat(entry, why, sizeof entry - length - 2);
  start_over();
  checkpoint_refuse("cannot start over");
}
