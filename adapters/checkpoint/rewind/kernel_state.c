/* What the kernel keeps for a process, apart from its memory: recorded when a worker begins,
 * checked and put back after each request. What cannot be put back retires the worker.
 *
 * After a clean request (calls/clean.h) nothing of it can have changed. After any other it is read
 * from the kernel itself, except for what only rare calls can change and what is too expensive to
 * read: those calls are noticed (rare_calls.c), and verify_worker() checks all of it from outside.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include "raw_call.h"
#include "rewind/engine.h"

static const uint64_t kLibcSignals = 3ull << 31; /* 32 and 33 */

/* ---- signals ---- */

static long action_get(int signal, struct signal_action *action) {
  return raw_call(SYS_rt_sigaction, signal, NULL, action, 8);
}

static void action_put_back(const struct engine *engine, int signal) {
  int is_ours = signal == SIGSYS && engine->clean.hands_back_calls;
  raw_call(SYS_rt_sigaction, signal,
           is_ours ? &engine->clean.action : &engine->kernel.actions[signal], NULL, 8);
}

/* Of a request that was not clean. libc takes the first two real-time signals when a thread is
 * created. */
static uint64_t signals_that_may_differ(const struct engine *engine,
                                        const struct process_words *now) {
  const struct process_words *then = &engine->kernel.words;
  return (now->ignored ^ then->ignored) | (now->caught ^ then->caught) | then->caught |
         kLibcSignals;
}

static void signals_put_back(struct engine *engine, uint64_t differ) {
  for (int signal = 1; signal < kSignalsMax; ++signal) {
    if ((differ >> (signal - 1) & 1) != 0) action_put_back(engine, signal);
  }
  uint64_t pending = 0;
  raw_call(SYS_rt_sigpending, &pending, 8);
  struct timespec at_once = {0, 0};
  uint64_t all = ~0ull;
  while (pending != 0 && raw_call(SYS_rt_sigtimedwait, &all, NULL, &at_once, 8) > 0) {
  }
  if (!engine->was_clean) raw_call(SYS_sigaltstack, &engine->kernel.alternate_stack, NULL);
}

/* ---- identity ---- */

static void capabilities_get(uint32_t *sets) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  raw_call(SYS_capget, &header, sets);
}

static int identity_read(struct kernel_state *state) {
  raw_call(SYS_getresuid, &state->uids[0], &state->uids[1], &state->uids[2]);
  raw_call(SYS_getresgid, &state->gids[0], &state->gids[1], &state->gids[2]);
  capabilities_get(state->capabilities);
  state->group_count = (int)raw_call(SYS_getgroups, kGroupsMax, state->groups);
  state->seccomp = raw_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
  state->no_new_privileges = raw_call(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  return state->group_count < 0 ? -1 : 0;
}

static enum retirement identity_check(struct engine *engine) {
  const struct kernel_state *then = &engine->kernel;
  struct kernel_state now;
  identity_read(&now);
  const char *what = NULL;
  if (memcmp(now.uids, then->uids, sizeof now.uids) != 0) what = "its user ids";
  if (memcmp(now.gids, then->gids, sizeof now.gids) != 0) what = "its group ids";
  if (memcmp(now.capabilities, then->capabilities, sizeof now.capabilities) != 0) {
    what = "its capabilities";
  }
  if (now.group_count != then->group_count ||
      memcmp(now.groups, then->groups, (size_t)now.group_count * sizeof(gid_t)) != 0) {
    what = "its supplementary groups";
  }
  if (now.seccomp != then->seccomp) what = "its system call filter";
  if (now.no_new_privileges != then->no_new_privileges) what = "no_new_privs";
  if (what == NULL) return RETIRED_NOT;
  strcpy(engine->reason, "the program changed ");
  strcat(engine->reason, what);
  return RETIRED_IDENTITY;
}

/* ---- what rare calls change ---- */

static const int kAskedPrctls[] = {PR_GET_KEEPCAPS, PR_GET_TIMERSLACK, PR_GET_SECUREBITS,
                                   PR_GET_THP_DISABLE, PR_GET_MEMORY_MERGE};
static const int kSetPrctls[] = {PR_SET_KEEPCAPS, PR_SET_TIMERSLACK, PR_SET_SECUREBITS,
                                 PR_SET_THP_DISABLE, PR_SET_MEMORY_MERGE};
enum { kPrctls = sizeof kAskedPrctls / sizeof *kAskedPrctls };

static void prctls_read(struct kernel_state *state) {
  for (int i = 0; i < kPrctls; ++i) {
    state->prctls[i] = raw_call(SYS_prctl, kAskedPrctls[i], 0, 0, 0, 0);
  }
  state->dumpable = raw_call(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
}

static int prctls_put_back(const struct engine *engine) {
  const struct kernel_state *then = &engine->kernel;
  struct kernel_state now;
  prctls_read(&now);
  for (int i = 0; i < kPrctls; ++i) {
    if (now.prctls[i] == then->prctls[i]) continue;
    if (raw_call(SYS_prctl, kSetPrctls[i], then->prctls[i], 0, 0, 0) != 0) return -1;
  }
  if (now.dumpable != then->dumpable &&
      raw_call(SYS_prctl, PR_SET_DUMPABLE, then->dumpable, 0, 0, 0) != 0) {
    return -1;
  }
  raw_call(SYS_prctl, PR_SET_PTRACER, engine->zygote_pid, 0, 0, 0);
  raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  return (int)raw_call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

static int limits_put_back(const struct kernel_state *then) {
  for (int i = 0; i < (int)RLIM_NLIMITS; ++i) {
    struct rlimit now, wanted = then->limits[i];
    raw_call(SYS_prlimit64, 0, i, NULL, &now);
    /* The soft limit of a request is set when it begins. Its original value may be used up by
     * now. */
    if (i == RLIMIT_CPU && state.processor.seconds != 0) wanted.rlim_cur = now.rlim_cur;
    if (memcmp(&now, &wanted, sizeof now) == 0) continue;
    if (raw_call(SYS_prlimit64, 0, i, &wanted, NULL) != 0) return -1;
  }
  return 0;
}

/* Policy, priorities, flags: all that sched_setattr() sets, in one call. */
static void attributes_read(struct kernel_state *state) {
  memset(state->schedule, 0, sizeof state->schedule);
  raw_call(SYS_sched_getattr, 0, state->schedule, sizeof state->schedule, 0);
}

static int attributes_put_back(struct engine *engine) {
  const struct kernel_state *then = &engine->kernel;
  struct kernel_state now;
  attributes_read(&now);
  if (memcmp(now.schedule, then->schedule, sizeof now.schedule) == 0) return 0;
  uint64_t wanted[sizeof then->schedule / sizeof *then->schedule];
  memcpy(wanted, then->schedule, sizeof wanted);
  raw_call(SYS_sched_setattr, 0, wanted, 0);
  attributes_read(&now);
  return memcmp(now.schedule, then->schedule, sizeof now.schedule) == 0 ? 0 : -1;
}

enum { kIoPriorityOfProcess = 1 };

static void schedule_read(struct kernel_state *state) {
  state->personality = raw_call(SYS_personality, 0xffffffff);
  state->io_priority = raw_call(SYS_ioprio_get, kIoPriorityOfProcess, 0);
  memset(state->affinity, 0, sizeof state->affinity);
  raw_call(SYS_sched_getaffinity, 0, sizeof state->affinity, state->affinity);
}

static int schedule_put_back(const struct kernel_state *then) {
  struct kernel_state now;
  schedule_read(&now);
  if (now.personality != then->personality && raw_call(SYS_personality, then->personality) < 0) {
    return -1;
  }
  if (now.io_priority != then->io_priority &&
      raw_call(SYS_ioprio_set, kIoPriorityOfProcess, 0, then->io_priority) != 0) {
    return -1;
  }
  if (memcmp(now.affinity, then->affinity, sizeof now.affinity) != 0 &&
      raw_call(SYS_sched_setaffinity, 0, sizeof then->affinity, then->affinity) != 0) {
    return -1;
  }
  return 0;
}

/* ---- what a child, or any process that may, can change in this process ---- */

static void file_read(const char *path, char *text) {
  memset(text, 0, kFileOfOneMax);
  long fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  raw_call(SYS_read, fd, text, kFileOfOneMax - 1);
  raw_call(SYS_close, fd);
}

static int file_put_back(const char *path, const char *then) {
  char now[kFileOfOneMax];
  file_read(path, now);
  if (memcmp(now, then, sizeof now) == 0) return 0;
  long fd = raw_call(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const char *prefix =
      path[strlen(path) - 1] == 'r' ? "0x" : ""; /* coredump_filter is written in hex */
  char text[kFileOfOneMax + 2] = "";
  strcpy(text, prefix);
  strcat(text, then);
  raw_call(SYS_write, fd, text, strlen(text));
  raw_call(SYS_close, fd);
  file_read(path, now);
  return memcmp(now, then, sizeof now) == 0 ? 0 : -1;
}

static const char kOomScore[] = "/proc/self/oom_score_adj";
static const char kCoredumps[] = "/proc/self/coredump_filter";

/* A child can join a keyring of its own, and then give it to its parent. */
static long session_keyring(void) {
  return raw_call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0, 0, 0);
}

static int files_put_back(const struct kernel_state *then) {
  return file_put_back(kOomScore, then->oom_score_adj) != 0 ||
                 file_put_back(kCoredumps, then->coredump_filter) != 0
             ? -1
             : 0;
}

/* A child that was waited for has added its page faults, unless SIGCHLD is ignored. */
static int had_children(const struct engine *engine, const struct process_words *now) {
  uint64_t on_child = 1ull << (SIGCHLD - 1);
  return now->faults_of_children != engine->kernel.words.faults_of_children ||
         ((now->ignored | engine->touched_signals) & on_child) != 0;
}

int calls_have_passed(const struct engine *engine) {
  return engine->clean.hands_back_calls &&
         (engine->touched & (TOUCHED_SIGSYS | TOUCHED_THREADS)) != 0;
}

/* Any call may have been made. Two would cost each such request too much, and are not expected: one
 * that makes a written page look unwritten, and one that maps a file whose lock must go before
 * DONE. */
static void expect_unseen_calls(struct engine *engine) {
  const unsigned seen = TOUCHED_THREADS | TOUCHED_FILES | TOUCHED_BY_OTHERS;
  engine->touched |= (kTouchedUnseen & ~seen) | TOUCHED_RESERVED;
  engine->touched_signals = ~0ull; /* stat shows no flags of those that are not handled */
}

static enum retirement unseen_check(struct engine *engine) {
  if (!calls_have_passed(engine)) return RETIRED_NOT;
  const char *what = unseen_difference(&engine->kernel.unseen, engine->pid, engine->zygote_pid);
  raw_call(SYS_unshare, CLONE_SYSVSEM); /* undoes what is to be undone of semaphores */
  if (what == NULL && clean_watch_again(engine) != 0) what = "how its calls are made";
  if (what == NULL) return RETIRED_NOT;
  strcpy(engine->reason, "the program changed, unseen, ");
  strcat(engine->reason, what);
  return RETIRED_CALL;
}

static enum retirement rare_put_back(struct engine *engine) {
  const char *what = NULL;
  unsigned touched = engine->touched;
  if ((touched & TOUCHED_BY_OTHERS) && files_put_back(&engine->kernel) != 0) what = "a file of it";
  if ((touched & TOUCHED_PRCTL) && prctls_put_back(engine) != 0) what = "an attribute";
  if ((touched & TOUCHED_LIMITS) && limits_put_back(&engine->kernel) != 0) what = "a limit";
  if ((touched & TOUCHED_SCHEDULE) && schedule_put_back(&engine->kernel) != 0) {
    what = "its scheduling";
  }
  if ((touched & TOUCHED_BY_OTHERS) && session_keyring() != engine->kernel.session_keyring) {
    what = "its keyring";
  }
  if (touched & TOUCHED_MEMORY_LOCKS) raw_call(SYS_munlockall);
  if (what == NULL) return RETIRED_NOT;
  strcpy(engine->reason, what);
  strcat(engine->reason, " that the program changed cannot be put back");
  return RETIRED_LIMITS;
}

/* ---- scheduling, group, name ---- */

static enum retirement words_put_back(struct engine *engine, const struct process_words *now) {
  const struct process_words *then = &engine->kernel.words;
  if (now->session_id != then->session_id || now->terminal != then->terminal) {
    strcpy(engine->reason, "the program made a session of its own, or left its terminal");
    return RETIRED_SESSION;
  }
  if (now->process_group != then->process_group &&
      raw_call(SYS_setpgid, 0, then->process_group) != 0) {
    strcpy(engine->reason, "the program left its process group, which cannot be joined again");
    return RETIRED_SESSION;
  }
  if ((engine->left_out & PART_LIMITS) == 0 &&
      ((now->nice != then->nice && raw_call(SYS_setpriority, PRIO_PROCESS, 0, then->nice) != 0) ||
       attributes_put_back(engine) != 0)) {
    strcpy(engine->reason, "a priority that the program changed cannot be put back");
    return RETIRED_LIMITS;
  }
  if (strcmp(now->name, then->name) != 0) {
    raw_call(SYS_prctl, PR_SET_NAME, then->name, 0, 0, 0);
  }
  return RETIRED_NOT;
}

/* ---- all of it ---- */

int kernel_state_read(int fd, struct kernel_state *kernel) {
  if (process_words_read(fd, &kernel->words) != 0) return -1;
  kernel->umask = (mode_t)raw_call(SYS_umask, 0);
  raw_call(SYS_umask, kernel->umask);
  for (int signal = 1; signal < kSignalsMax; ++signal) action_get(signal, &kernel->actions[signal]);
  raw_call(SYS_sigaltstack, NULL, &kernel->alternate_stack);
  prctls_read(kernel);
  schedule_read(kernel);
  attributes_read(kernel);
  kernel->session_keyring = session_keyring();
  kernel->group_aside = raw_call(SYS_getpgid, state.bridge_pid);
  file_read(kOomScore, kernel->oom_score_adj);
  file_read(kCoredumps, kernel->coredump_filter);
  for (int i = 0; i < (int)RLIM_NLIMITS; ++i) {
    raw_call(SYS_prlimit64, 0, i, NULL, &kernel->limits[i]);
  }
  return identity_read(kernel);
}

enum retirement kernel_state_put_back(struct engine *engine) {
  unsigned left_out = engine->left_out;
  struct process_words now;
  enum retirement why = RETIRED_NOT;
  if ((left_out & PART_TIMERS) == 0) timers_put_back(engine->was_clean);
  if (engine->was_clean && address_space_read(engine) == 0) {
    if ((left_out & PART_SIGNALS) == 0 && !engine->was_silent)
      signals_put_back(engine, engine->touched_signals);
    return RETIRED_NOT;
  }
  if (process_words_read(engine->stat_fd, &now) != 0) {
    strcpy(engine->reason, "/proc/self/stat cannot be read any more");
    return RETIRED_FAULT;
  }
  engine->address_space_now = now.address_space;
  if (had_children(engine, &now)) {
    engine->touched |= TOUCHED_BY_OTHERS | TOUCHED_LIMITS | TOUCHED_SCHEDULE | TOUCHED_PRCTL;
  }
  engine->kernel.words.faults_of_children = now.faults_of_children;
  if (calls_have_passed(engine)) expect_unseen_calls(engine);
  if ((left_out & PART_NAME) != 0) memcpy(now.name, engine->kernel.words.name, sizeof now.name);
  why = words_put_back(engine, &now);
  if (why != RETIRED_NOT) return why;
  if ((left_out & PART_SIGNALS) == 0) {
    signals_put_back(engine, signals_that_may_differ(engine, &now) | engine->touched_signals);
  }
  if ((left_out & PART_UMASK) == 0) raw_call(SYS_umask, engine->kernel.umask);
  if ((left_out & PART_LIMITS) == 0) why = rare_put_back(engine);
  if (why == RETIRED_NOT) why = identity_check(engine);
  return why != RETIRED_NOT ? why : unseen_check(engine);
}
