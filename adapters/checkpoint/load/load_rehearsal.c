#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "load/load_effects.h"
#include "raw_call.h"
#include "rewind/engine.h"

static int *unnoticed; /* shared by both processes: no exit code tells as much */
static int is_copy;

int load_effects_is_copy(void) {
  return is_copy;
}

static void become_copy(void) {
  is_copy = 1;
  raw_call(SYS_close, state.channel);
  state.pid = (pid_t)raw_call(SYS_getpid);
}

/* Whether it ended by itself. */
static int await(long copy) {
  enum { kPauseNs = 1000000, kPauses = 1000 };
  const struct timespec pause = {0, kPauseNs};
  long ended;
  for (int i = 0; i < kPauses; ++i) {
    ended = raw_call(SYS_wait4, copy, NULL, WNOHANG | __WALL, NULL);
    if (ended == copy) return 1;
    raw_call(SYS_nanosleep, &pause, NULL);
  }
  raw_call(SYS_kill, copy, SIGKILL);
  do {
    ended = raw_call(SYS_wait4, copy, NULL, __WALL, NULL);
  } while (ended == -EINTR);
  return 0;
}

const char *load_effects_rehearse(const char *words) {
  if (is_copy) {
    *unnoticed = strcmp(words, "/unnoticed") == 0;
    give_up(0);
  }
  if (words[0] != '\0') return "";
  const size_t bytes = sizeof *unnoticed;
  const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_ANONYMOUS;
  long page = raw_call(SYS_mmap, NULL, bytes, prot, flags, -1, 0);
  if (page < 0 && page >= -4095) return "";
  unnoticed = (int *)page;
  long copy = raw_call(SYS_clone, 0, 0, 0, 0, 0); /* its end sends no signal */
  if (copy == 0) {
    become_copy();
    return "copy";
  }
  int has_ended = copy < 0 || await(copy), was_unnoticed = *unnoticed;
  raw_call(SYS_munmap, unnoticed, bytes);
  return !has_ended ? "hangs" : was_unnoticed ? "unnoticed" : "";
}
