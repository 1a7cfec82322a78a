/* Threads at the checkpoint: parked, noted, ended; see threads.h. */
#include "rewind/threads.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "raw_call.h"
#include "rewind/other_threads.h"
#include "rewind/parked_threads.h"
#include "rewind/thread_locks.h"
#include "rewind/threads_missing.h"

enum { kStatusBytes = 4096 };
enum { kSteps = 10000, kStepNanoseconds = 100000 }; /* a second, to be parked or to end */
enum { kAttempts = 3, kFrameBytes = 16 * 1024 };

enum parking { PARK_TOLD, PARK_STANDS, PARK_MOVED };
enum order { ORDER_STAY, ORDER_RUN, ORDER_END };

/* A thread that takes the signal of an earlier attempt finds neither order nor note of its own. */
static int attempt; /* counted from the start */
static int order;   /* of an attempt */

static int of_attempt(int number, int what) {
  enum { kBits = 2 };
  return number << kBits | what;
}

/* ---- what each has of its own ---- */

/* Made again by the first thread, a thread has that one's rights and schedule. */
static int has_lines_of_first(pid_t thread) {
  static const char *const kLines[] = {
      "Uid:",          "Gid:",         "Groups:", "SigPnd:",     "CapInh:",  "CapPrm:",
      "CapEff:",       "CapBnd:",      "CapAmb:", "NoNewPrivs:", "Seccomp:", "Seccomp_filters:",
      "Cpus_allowed:", "Mems_allowed:"};
  char theirs[kStatusBytes], ours[kStatusBytes];
  if (thread_read_file(thread, "status", theirs, sizeof theirs) <= 0) return 0;
  if (thread_read_file((pid_t)raw_call(SYS_gettid), "status", ours, sizeof ours) <= 0) return 0;
  for (size_t i = 0; i < sizeof kLines / sizeof *kLines; ++i) {
    char name[24];
    snprintf(name, sizeof name, "\n%s", kLines[i]);
    const char *a = strstr(theirs, name), *b = strstr(ours, name);
    if ((a == NULL) != (b == NULL)) return 0;
    if (a == NULL) continue;
    size_t length = strcspn(a + 1, "\n");
    if (length != strcspn(b + 1, "\n") || memcmp(a, b, length + 1) != 0) return 0;
  }
  return 1;
}

static int has_schedule_of_first(pid_t thread) {
  enum { kProcess = 1 };
  char theirs[56], ours[56]; /* struct sched_attr; its time slices need not be compared */
  memset(theirs, 0, sizeof theirs);
  memset(ours, 0, sizeof ours);
  enum { kUntilSlices = 24 };
  if (raw_call(SYS_sched_getattr, thread, theirs, sizeof theirs, 0) != 0) return 0;
  if (raw_call(SYS_sched_getattr, 0, ours, sizeof ours, 0) != 0) return 0;
  if (memcmp(theirs, ours, kUntilSlices) != 0) return 0;
  return raw_call(SYS_ioprio_get, kProcess, thread) == raw_call(SYS_ioprio_get, kProcess, 0);
}

/* The signal's frame is written below what the thread's stack holds now; memory that cannot take it
 * would end the process. Linux before 5.14 cannot be asked. */
static int has_room(const struct parked_thread *thread) {
#ifdef MADV_POPULATE_WRITE
  uintptr_t end = thread->wait.stack & ~(uintptr_t)(kPageSize - 1);
  long result =
      raw_call(SYS_madvise, end - kFrameBytes, kFrameBytes + kPageSize, MADV_POPULATE_WRITE);
  return result == 0 || result == -EINVAL;
#else
  (void)thread;
  return 1;
#endif
}

/* Descriptors and the folder; where the kernel does not compare them, nothing is known. */
static int shares_files_with_first(pid_t thread) {
  enum { kFiles = 2, kFolders = 3 }; /* <linux/kcmp.h> */
  return raw_call(SYS_kcmp, state.pid, thread, kFiles, 0, 0) <= 0 &&
         raw_call(SYS_kcmp, state.pid, thread, kFolders, 0, 0) <= 0;
}

static int check_attributes(char *reason, size_t reason_bytes) {
  for (size_t i = 0; i < parked_threads.count; ++i) {
    const struct parked_thread *thread = &parked_threads.list[i];
    if (!shares_files_with_first(thread->id)) {
      return threads_refuse(reason, reason_bytes,
                            "one of its threads has descriptors or a folder of its own");
    }
    if (!has_lines_of_first(thread->id) || !has_schedule_of_first(thread->id)) {
      return threads_refuse(
          reason, reason_bytes,
          "one of its threads has rights, processors, a schedule or signals of its own");
    }
    if (!has_room(thread)) {
      return threads_refuse(reason, reason_bytes, "the stack of one of its threads is full");
    }
  }
  return 0;
}

/* ---- parked ---- */

static void give_order(int what) {
  __atomic_store_n(&order, of_attempt(attempt, what), __ATOMIC_SEQ_CST);
  raw_call(SYS_futex, &order, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A thread that has not parked yet finds the order when it does. */
void threads_let_run(void) {
  give_order(ORDER_RUN);
  parked_threads.count = 0;
}

#if defined(__x86_64__)

#include <asm/prctl.h>

static const char *const kNotHere = NULL;

/* What only a thread itself can read. A thread that is made again has the first thread's, and no
 * signal for its parent's death. */
struct attributes {
  long slack, rights, personality, death_signal;
  unsigned long base_of_gs;
  long policy;             /* an int, to the kernel */
  unsigned long nodes[16]; /* of memory */
};
static struct attributes of_first;

static struct attributes attributes_now(void) {
  enum { kOnlyAsk = -1 };
  struct attributes now;
  int death_signal = 0;
  memset(&now, 0, sizeof now);
  now.slack = raw_call(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);
  now.rights = raw_call(SYS_prctl, PR_GET_SECUREBITS, 0, 0, 0, 0);
  now.personality = raw_call(SYS_personality, kOnlyAsk);
  raw_call(SYS_prctl, PR_GET_PDEATHSIG, &death_signal, 0, 0, 0);
  now.death_signal = death_signal;
  raw_call(SYS_arch_prctl, ARCH_GET_GS, &now.base_of_gs);
  raw_call(SYS_get_mempolicy, &now.policy, now.nodes, sizeof now.nodes * 8, NULL, 0);
  return now;
}

static int differs_from_first(void) {
  struct attributes now = attributes_now();
  return memcmp(&now, &of_first, sizeof now) != 0;
}

/* The arguments, too: libc's functions wait for many words in one place. */
static int is_same_wait(const struct parked_thread *thread, const greg_t *registers) {
  static const int kArguments[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
  for (size_t i = 0; i < sizeof kArguments / sizeof *kArguments; ++i) {
    if ((unsigned long)registers[kArguments[i]] != thread->wait.arguments[i]) return 0;
  }
  return 1;
}

/* The kernel has either arranged for the call to be made once more, or left that to the program,
 * which does not notice: all arguments are still in their registers. */
static int wait_begins_again(const struct parked_thread *thread, greg_t *registers) {
  enum { kCallBytes = 2 };
  uintptr_t place = (uintptr_t)registers[REG_RIP];
  if (!is_same_wait(thread, registers)) return 0;
  if (registers[REG_RAX] == -EINTR && place == thread->wait.place) {
    registers[REG_RAX] = thread->wait.number;
    registers[REG_RIP] -= kCallBytes;
    return 1;
  }
  return registers[REG_RAX] == thread->wait.number && place == thread->wait.place - kCallBytes;
}

/* ---- the signal ---- */

static struct signal_action replaced; /* libc's own handler, or the program's */
static int is_handled;                /* ours is in its place */

/* libc sends this signal, too, and waits until each thread has handled it. */
static int tell(pid_t thread) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_signo = kThreadSignal;
  info.si_code = SI_QUEUE;
  info.si_pid = state.pid;
  info.si_errno = attempt;
  info.si_value.sival_ptr = &order;
  return raw_call(SYS_rt_tgsigqueueinfo, state.pid, thread, kThreadSignal, &info) == 0 ? 0 : -1;
}

static int is_told(const siginfo_t *info) {
  return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &order;
}

/* A call by a static executable's handler could not be handed back here. */
static void pass_on(int number, siginfo_t *info, void *frame) {
  if (program_has_traps()) return;
  if (replaced.handler == SIG_DFL || replaced.handler == SIG_IGN) return;
  ((thread_handler *)(uintptr_t)replaced.handler)(number, info, frame);
}

static void on_park(int number, siginfo_t *info, void *frame) {
  if (!is_told(info)) return pass_on(number, info, frame);
  struct parked_thread *thread = parked_thread_of((pid_t)raw_call(SYS_gettid));
  if (thread == NULL) return;
  ucontext_t *context = frame;
  thread->frame = (uintptr_t)frame;
  if (program_has_traps()) traps_describe(&thread->traps);
  if (program_is_static()) {
    raw_call(SYS_arch_prctl, ARCH_GET_FS, &thread->block);
  } else {
    thread->block = (uintptr_t)__builtin_thread_pointer();
    thread->tid_address = clone_tid_address();
    clone_robust_list(&thread->robust_list, &thread->robust_list_bytes);
  }
  raw_call(SYS_prctl, PR_GET_NAME, thread->name, 0, 0, 0);
  thread->differs = differs_from_first();
  int stands = wait_begins_again(thread, context->uc_mcontext.gregs);
  const int told_in = info->si_errno, stay = of_attempt(told_in, ORDER_STAY);
  __atomic_store_n(&thread->is_parked, of_attempt(told_in, stands ? PARK_STANDS : PARK_MOVED),
                   __ATOMIC_SEQ_CST);
  int now;
  while ((now = __atomic_load_n(&order, __ATOMIC_SEQ_CST)) == stay) {
    raw_call(SYS_futex, &order, FUTEX_WAIT, stay, NULL, NULL, 0);
  }
  if (now == of_attempt(told_in, ORDER_END)) raw_call(SYS_exit, 0);
}

/* What it replaces is known before it can run; ours stays in place if a thread did not come. */
static int handle_park(void) {
  if (!is_handled && raw_call(SYS_rt_sigaction, kThreadSignal, NULL, &replaced, 8) != 0) return -1;
  is_handled = 1;
  return threads_handle(on_park, NULL);
}

static void handle_as_before(void) {
  raw_call(SYS_rt_sigaction, kThreadSignal, &replaced, NULL, 8);
  is_handled = 0;
}

static enum parking parked_how(const struct parked_thread *thread) {
  int noted = __atomic_load_n(&thread->is_parked, __ATOMIC_SEQ_CST);
  if (noted == of_attempt(attempt, PARK_STANDS)) return PARK_STANDS;
  return noted == of_attempt(attempt, PARK_MOVED) ? PARK_MOVED : PARK_TOLD;
}

/* Returns 1 if it waits in its handler as it was seen to wait before. */
static int comes_to_park(struct parked_thread *thread, int *all_came) {
  enum parking is_parked = parked_how(thread);
  for (int steps = 0; steps < kSteps && is_parked == PARK_TOLD; ++steps) {
    thread_pause(kStepNanoseconds);
    is_parked = parked_how(thread);
  }
  if (is_parked == PARK_TOLD) *all_came = 0;
  if (program_is_static()) return is_parked == PARK_STANDS;
  return is_parked == PARK_STANDS && thread->tid_address != NULL &&
         *thread->tid_address == thread->id;
}

static void only_count(pid_t thread, void *unused) {
  (void)thread;
  (void)unused;
}

static int park_all(void) {
  int all_stand = 1, all_came = 1;
  __atomic_store_n(&order, of_attempt(++attempt, ORDER_STAY), __ATOMIC_SEQ_CST);
  of_first = attributes_now();
  of_first.death_signal = 0;
  if (handle_park() != 0) return -1;
  for (size_t i = 0; i < parked_threads.count; ++i) {
    struct parked_thread *thread = &parked_threads.list[i];
    if (tell(thread->id) != 0) { /* it has ended */
      thread->is_parked = of_attempt(attempt, PARK_MOVED);
    }
  }
  for (size_t i = 0; i < parked_threads.count; ++i) {
    struct parked_thread *thread = &parked_threads.list[i];
    all_stand &= comes_to_park(thread, &all_came);
    if (!program_is_static()) thread->restartable = thread_restartable((void *)thread->block);
  }
  all_stand &= threads_visit(only_count, NULL) == (long)parked_threads.count;
  /* libc's own handler would not know what to do with the signal of a thread that comes late. */
  if (all_came) handle_as_before();
  if (!all_stand) threads_let_run();
  return all_stand ? 0 : -1;
}

#else

/* Which registers a frame has, and how a call is begun again, differs for each processor. */
static const char *const kNotHere = "threads are carried over on x86-64 only";

static int park_all(void) {
  return -1;
}

#endif

/* Why threads cannot be parked however they wait, or NULL. An adapter makes its interpreter behave
 * as in a forked child, which forgets the interpreter's own threads. */
static const char *why_never(void) {
  if (threads_of_process() == 1) return NULL;
  if (kNotHere != NULL) return kNotHere;
  if (raw_call(SYS_gettid) != state.pid) return "its checkpoint is not in the first thread";
  int is_forgotten = state.level == LEVEL_COMPILED && state.load.interpreter_started_thread &&
                     !state.load.threads_stay;
  return is_forgotten ? "its interpreter has started one" : NULL;
}

/* Of a parked thread. */
static const char *what_is_in_the_way(void) {
  for (size_t i = 0; i < parked_threads.count; ++i) {
    if (parked_threads.list[i].differs) return "one of its threads has attributes of its own";
  }
  if (program_is_go() && go_renewal_find_threads() != 0)
    return "one of its threads is unknown to Go";
  /* What a large heap holds may look like a lock: numbers are enough. */
  int is_known = program_is_static() || parked_threads.are_interpreters;
  return is_known ? NULL : lock_of_parked_thread();
}

int threads_park(char *reason, size_t reason_bytes) {
  const char *never = why_never();
  if (never != NULL) return threads_refuse(reason, reason_bytes, never);
  char why[kReasonMax];
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (threads_await_rest(why, sizeof why) != 0) break;
    if (parked_threads.count == 0) return 0;
    if (check_attributes(why, sizeof why) != 0) break;
    if (park_all() != 0) {
      threads_refuse(why, sizeof why, "its threads do not rest");
      continue;
    }
    const char *held = what_is_in_the_way();
    if (held == NULL) {
      threads_judge();
      return 0;
    }
    threads_let_run();
    threads_refuse(why, sizeof why, held);
    break;
  }
  parked_threads.count = 0;
  return threads_refuse(reason, reason_bytes, why);
}

int threads_end_parked(void) {
  if (parked_threads.count == 0) return 0;
  give_order(ORDER_END);
  for (int steps = 0; steps < kSteps; ++steps) {
    if (threads_of_process() == 1) return 0;
    thread_pause(kStepNanoseconds);
  }
  return -1;
}
