/* See kept_at_exec.h. */
#include "rewind/kept_at_exec.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "raw_call.h"
#include "rewind/engine.h"

enum { kMaskBytes = 8, kNodeWords = 16 };

/* Which root and which namespaces it sees. Missing ones are 0. */
static const char *const kPlaces[] = {
    "/",
    "/proc/self/ns/mnt",
    "/proc/self/ns/user",
    "/proc/self/ns/net",
    "/proc/self/ns/ipc",
    "/proc/self/ns/uts",
    "/proc/self/ns/cgroup",
    "/proc/self/ns/pid_for_children",
    "/proc/self/ns/time_for_children",
};
enum { kPlacesCount = sizeof kPlaces / sizeof *kPlaces };

struct kept {
  struct kernel_state kernel;
  struct {
    dev_t device;
    ino_t inode;
  } places[kPlacesCount];
  int memory_policy;
  unsigned long memory_nodes[kNodeWords];
};

/* Not on the stack, which may be a small one. */
static struct kept at_start, now_kept;
static int is_known, is_doubted;

static int kept_read(struct kept *kept) {
  memset(kept, 0, sizeof *kept);
  long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int result = kernel_state_read((int)fd, &kept->kernel);
  raw_call(SYS_close, fd);
  for (int i = 0; i < kPlacesCount; ++i) {
    struct stat status;
    if (raw_call(SYS_newfstatat, AT_FDCWD, kPlaces[i], &status, 0) != 0) continue;
    kept->places[i].device = status.st_dev;
    kept->places[i].inode = status.st_ino;
  }
  raw_call(SYS_get_mempolicy, &kept->memory_policy, kept->memory_nodes,
           sizeof kept->memory_nodes * 8, NULL, 0);
  return result;
}

void kept_remember_start(void) {
  is_known = !is_doubted && kept_read(&at_start) == 0;
}

void kept_remember_checkpoint(void) {
  at_start.kernel.prctls[kPrctlOfHugePages] = raw_call(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0);
}

void kept_doubt_start(void) {
  is_doubted = 1;
}

/* ---- the comparison ---- */

#define IS_SAME(field) (memcmp(&now->field, &then->field, sizeof now->field) == 0)

static int kernel_is_same(const struct kernel_state *now, const struct kernel_state *then) {
  return IS_SAME(words.session_id) && IS_SAME(words.terminal) && IS_SAME(words.priority) &&
         IS_SAME(words.nice) && IS_SAME(words.real_time_priority) && IS_SAME(words.policy) &&
         IS_SAME(umask) && IS_SAME(uids) && IS_SAME(gids) &&
         now->group_count == then->group_count &&
         memcmp(now->groups, then->groups, (size_t)now->group_count * sizeof(gid_t)) == 0 &&
         IS_SAME(capabilities) && IS_SAME(seccomp) && IS_SAME(no_new_privileges) &&
         IS_SAME(dumpable) && IS_SAME(personality) && IS_SAME(io_priority) &&
         IS_SAME(session_keyring) && IS_SAME(prctls) && IS_SAME(limits) && IS_SAME(affinity) &&
         IS_SAME(schedule) && IS_SAME(oom_score_adj) && IS_SAME(coredump_filter);
}

/* The limit of processor time counts from the request's start. */
static void take_limit_as_given(struct kernel_state *now) {
  struct rlimit *processor = &now->limits[RLIMIT_CPU];
  if (state.processor.seconds != 0 && processor->rlim_cur == state.processor.until)
    processor->rlim_cur = at_start.kernel.limits[RLIMIT_CPU].rlim_cur;
}

static int is_same_as_at_start(struct kept *now) {
  const struct kept *then = &at_start;
  if (!is_known || kept_read(now) != 0) return 0;
  take_limit_as_given(&now->kernel);
  return kernel_is_same(&now->kernel, &then->kernel) && IS_SAME(places) && IS_SAME(memory_policy) &&
         IS_SAME(memory_nodes);
}

int kept_is_as_at_start_of_load(void) {
  return is_same_as_at_start(&now_kept) &&
         now_kept.kernel.words.process_group == at_start.kernel.words.process_group;
}

/* ---- what else a request may have changed ---- */

/* A file that is executed may begin with these ignored: Python ignores them. */
static const uint32_t kMayBeIgnored = 1u << (SIGPIPE - 1) | 1u << (SIGXFSZ - 1);

static uint64_t ignored_signals(const struct kernel_state *kernel) {
  uint64_t ignored = 0;
  for (int signal = 1; signal < kSignalsMax; ++signal) {
    if (kernel->actions[signal].handler == SIG_IGN) ignored |= 1ull << (signal - 1);
  }
  return ignored;
}

/* Those with an action of their own get the default when a file is executed; ignored ones stay
 * ignored, as do blocked ones, and those that are pending. */
static int signals_are_as_at_start(uint64_t ignored, uint64_t mask) {
  uint64_t pending = 0;
  raw_call(SYS_rt_sigpending, &pending, kMaskBytes);
  return (ignored & ~(uint64_t)kMayBeIgnored) == 0 && mask == 0 && pending == 0;
}

/* No child, not even one that has ended, and no member of the process group. */
static int is_alone(const struct kernel_state *kernel) {
  siginfo_t child;
  return raw_call(SYS_waitid, P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) ==
             -ECHILD &&
         group_is_ours_alone(kernel);
}

/* What prctl() sets for a process that the bridge starts, and a file that is executed keeps. */
static int attributes_are_as_at_start(void) {
  int signal = 0, reaps = 0;
  raw_call(SYS_prctl, PR_GET_PDEATHSIG, &signal, 0, 0, 0);
  raw_call(SYS_prctl, PR_GET_CHILD_SUBREAPER, &reaps, 0, 0, 0);
  return signal == SIGTERM && reaps == 0;
}

static int timers_run(void) {
  struct itimerval timer;
  for (int which = ITIMER_REAL; which <= ITIMER_PROF; ++which) {
    if (raw_call(SYS_getitimer, which, &timer) != 0) return 1;
    if (timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0) return 1;
  }
  return 0;
}

int kept_is_as_at_start(uint64_t mask, int may_have_children, uint32_t *ignored) {
  const struct kernel_state *now = &now_kept.kernel;
  if (!is_same_as_at_start(&now_kept) || now->words.process_group != state.pid) return 0;
  uint64_t all_ignored = ignored_signals(now);
  *ignored = (uint32_t)all_ignored;
  return signals_are_as_at_start(all_ignored, mask) && attributes_are_as_at_start() &&
         !timers_run() && (!may_have_children || is_alone(now));
}
