#include "uncopied.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "calls/rare_calls.h"
#include "load/trial.h"
#include "raw_call.h"
#include "rewind/engine.h"

struct stream_state {
  ino_t inode;
  long flags, number_flags, signal, pipe_bytes;
};

static struct stream_state streams_at_start[3];
static long group_leader_at_start;

static struct stream_state stream_state_of(int fd) {
  struct stat file = {0};
  raw_call(SYS_fstat, fd, &file);
  struct stream_state now = {
      .inode = file.st_ino,
      .flags = raw_call(SYS_fcntl, fd, F_GETFL, 0),
      .number_flags = raw_call(SYS_fcntl, fd, F_GETFD, 0),
      .signal = raw_call(SYS_fcntl, fd, F_GETSIG, 0),
      .pipe_bytes = raw_call(SYS_fcntl, fd, F_GETPIPE_SZ, 0),
  };
  return now;
}

void uncopied_remember_start(void) {
  for (int fd = 0; fd < 3; ++fd) streams_at_start[fd] = stream_state_of(fd);
  group_leader_at_start = raw_call(SYS_getsid, 0);
}

/* Node closes all three at an exec, and its adapter does so for each request. */
static int all_close_at_exec(void) {
  int count = 0;
  for (int fd = 0; fd < 3; ++fd) count += raw_call(SYS_fcntl, fd, F_GETFD, 0) == FD_CLOEXEC;
  return count == 3;
}

/* An interpreter that is tried out has its own way for those that it makes non-blocking. */
static const char *streams_held(int is_last_look) {
  static char words[64];
  const long unseen = trial_is_on() || trial_was_left() ? O_NONBLOCK : 0;
  const int sees_numbers = state.level == LEVEL_LINKED || !all_close_at_exec();
  if (state.load.output.kept <= 0) return NULL;
  for (int fd = 0; fd < 3; ++fd) {
    const struct stream_state *then = &streams_at_start[fd], now = stream_state_of(fd);
    if (then->inode != now.inode && !is_last_look) continue; /* an adapter's, for the moment */
    snprintf(words, sizeof words, "descriptor %d was opened again before the checkpoint", fd);
    if (then->inode != now.inode) return words;
    if (((then->flags ^ now.flags) & ~unseen) != 0 ||
        (sees_numbers && then->number_flags != now.number_flags) || then->signal != now.signal ||
        then->pipe_bytes != now.pipe_bytes) {
      return "changes the flags of its standard streams before the checkpoint";
    }
  }
  return NULL;
}

static int is_pending(void) {
  uint64_t pending = 0;
  return raw_call(SYS_rt_sigpending, &pending, sizeof pending) == 0 && pending != 0;
}

/* A new page tells whether all that comes is locked. */
static int locks_memory(void) {
  enum { kPage = 4096 };
  char text[4096];
  long page = raw_call(SYS_mmap, NULL, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page < 0 && page > -kPage) return 1; /* as many as may be are locked */
  long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
  long bytes = fd < 0 ? 0 : raw_call(SYS_read, fd, text, sizeof text - 1);
  if (fd >= 0) raw_call(SYS_close, fd);
  raw_call(SYS_munmap, page, kPage);
  text[bytes > 0 ? bytes : 0] = '\0';
  const char *locked = strstr(text, "\nVmLck:");
  return locked != NULL && strtoul(locked + strlen("\nVmLck:"), NULL, 10) != 0;
}

static int has_keyring(void) {
  return raw_call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_THREAD_KEYRING, 0) > 0 ||
         raw_call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0) > 0;
}

static ino_t inode_of(const char *path) {
  struct stat file;
  return raw_call(SYS_newfstatat, AT_FDCWD, path, &file, 0) == 0 ? file.st_ino : 0;
}

static int children_live_elsewhere(void) {
  return inode_of("/proc/self/ns/pid") != inode_of("/proc/self/ns/pid_for_children") ||
         inode_of("/proc/self/ns/time") != inode_of("/proc/self/ns/time_for_children");
}

/* This library's own is SIGKILL; a change of users clears it. */
static int has_death_signal(void) {
  int signal = 0, reaps = 0;
  raw_call(SYS_prctl, PR_GET_PDEATHSIG, &signal, 0, 0, 0);
  raw_call(SYS_prctl, PR_GET_CHILD_SUBREAPER, &reaps, 0, 0, 0);
  return (signal != 0 && signal != SIGKILL) || reaps != 0;
}

const char *uncopied_of_process(void) {
  enum { kResetOnFork = 0x40000000 };
  const unsigned touched = state.touched | state.load.left.touched;
  const char *streams = streams_held(0);
  if (streams != NULL) return streams;
  if (is_pending()) return "a signal is pending at the checkpoint";
  if (locks_memory()) return "memory is locked at the checkpoint";
  if (has_death_signal()) return "asks for its parent's death or its orphans before the checkpoint";
  long policy = raw_call(SYS_sched_getscheduler, 0);
  if (policy > 0 && (policy & kResetOnFork) != 0) return "its schedule is reset by a fork";
  if (raw_call(SYS_getsid, 0) != group_leader_at_start)
    return "calls setsid() before the checkpoint";
  if (has_keyring()) return "has a keyring of its own at the checkpoint";
  if (children_live_elsewhere()) return "its children have another namespace at the checkpoint";
  if ((touched & TOUCHED_SEMAPHORES) != 0) return "a semaphore is to be undone at the checkpoint";
  return NULL;
}

const char *uncopied_streams(void) {
  return streams_held(1);
}
