/* The end of threads; see threads.h. A thread is ended by a signal that libc never lets a program
 * block, whose handler is the exit of the thread: the kernel then tells those who wait for a robust
 * mutex of it, as at the end of a process. Destructors, cleanup handlers and locks do not matter:
 * exit() would not have cared for them either, and the memory is put back. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "calls/passed_calls.h"
#include "raw_call.h"
#include "rewind/other_threads.h"
#include "rewind/parked_threads.h"
#include "rewind/threads.h"

enum { kPatience = 250000000, kLooksAtOnce = 10, kLookNanoseconds = 100000 };

/* Who ends the request: the first thread, or another, which waits for the first to take over or no
 * longer waits. */
enum ender { ENDER_NONE, ENDER_CALLS_FIRST, ENDER_FIRST, ENDER_OTHER };

static int is_handled; /* the handler below is installed */
static int ended_amid; /* a thread was ended that may have been in any call */
static struct signal_action replaced;

static int takes_end(int from, int to) {
  return __atomic_compare_exchange_n(&state.ender, &from, to, 0, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

static int is_first_thread(void) {
  return raw_call(SYS_gettid) == state.pid;
}

static uint64_t now_ns(void) {
  struct timespec now;
  raw_call(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the signal ---- */

#if defined(__x86_64__)

/* Whether the thread waits for a futex by libc's instruction or ours, or where one waited at the
 * checkpoint, for whatever it be: a wait that is interrupted has done nothing. */
static int only_waits(const void *frame) {
  static const char kCall[] = {0x0f, 0x05};
  enum { kCallBytes = sizeof kCall };
  const greg_t *registers = ((const ucontext_t *)frame)->uc_mcontext.gregs;
  const uintptr_t place = (uintptr_t)registers[REG_RIP];
  const struct address_range *libc = &state.engine->clean.code;
  int is_in_libc = place - libc->start < libc->end - libc->start;
  if (program_has_traps()) return 0;
  if (registers[REG_RAX] == SYS_futex && (is_in_libc || is_of_this_library((const void *)place)) &&
      memcmp((const void *)place, kCall, kCallBytes) == 0) {
    return 1;
  }
  for (size_t i = 0; i < parked_threads.count; ++i) {
    const struct parked_thread *thread = &parked_threads.list[i];
    int is_over = place == thread->wait.place && registers[REG_RAX] == -EINTR;
    int begins =
        place == thread->wait.place - kCallBytes && registers[REG_RAX] == thread->wait.number;
    if (is_over || begins) return 1;
  }
  return 0;
}

#else

static int only_waits(const void *frame) {
  (void)frame;
  return 0;
}

#endif

/* The first thread gets the signal only if it is to take over. If it comes too late for that, the
 * other is about to end the process. */
static void on_end(int number, siginfo_t *info, void *frame) {
  (void)number;
  (void)info;
  if (!is_first_thread()) {
    if (!only_waits(frame)) __atomic_store_n(&ended_amid, 1, __ATOMIC_SEQ_CST);
    for (;;) raw_call(SYS_exit, 0);
  }
  if (takes_end(ENDER_CALLS_FIRST, ENDER_FIRST)) {
    context_call_on(state.engine->stack + kEngineStackBytes, state.end_of_request);
  }
  for (;;) thread_pause(kLookNanoseconds);
}

static int handle_end(void) {
  if (!is_handled && threads_handle(on_end, &replaced) != 0) return -1;
  is_handled = 1;
  return 0;
}

void threads_end_forget(void) {
  if (is_handled) raw_call(SYS_rt_sigaction, kThreadSignal, &replaced, NULL, 8);
  is_handled = 0;
}

/* ---- who ends the request ---- */

enum leaver thread_that_leaves(void) {
  /* No other thread or process is clean. */
  if (state.reset == RESET_REWIND && state.engine->was_clean) return LEAVER_FIRST;
  if (is_first_thread()) return LEAVER_FIRST;
  return getpid() == state.pid ? LEAVER_OTHER : LEAVER_CHILD;
}

/* Left by the handler only. */
static _Noreturn void wait_to_be_ended(void) {
  uint64_t others = ~(1ull << (kThreadSignal - 1));
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &others, NULL, 8);
  for (;;) raw_call(SYS_ppoll, NULL, 0, NULL, NULL, 8);
}

/* "pid (name) state ...", of the first thread: pthread_exit() may have ended it already. */
static int first_thread_has_ended(const struct engine *engine) {
  char text[128];
  long got = raw_call(SYS_pread64, engine->stat_fd, text, sizeof text - 1, 0);
  if (got <= 0) return 1;
  text[got] = '\0';
  const char *close = strrchr(text, ')');
  return close == NULL || close[1] == '\0' || close[2] == 'Z' || close[2] == 'X';
}

static void call_first_thread(struct engine *engine) {
  int can_come = !first_thread_has_ended(engine) && handle_end() == 0 &&
                 raw_call(SYS_tgkill, state.pid, state.pid, kThreadSignal) == 0;
  uint64_t until = now_ns() + kPatience;
  while (can_come && now_ns() < until) {
    if (__atomic_load_n(&state.ender, __ATOMIC_SEQ_CST) != ENDER_CALLS_FIRST) wait_to_be_ended();
    thread_pause(kLookNanoseconds);
  }
  if (!takes_end(ENDER_CALLS_FIRST, ENDER_OTHER)) wait_to_be_ended();
}

void threads_claim_end(enum leaver leaver, int exit_code, void (*end)(void)) {
  struct engine *engine = state.engine;
  int is_first = leaver == LEAVER_FIRST;
  if (is_first && takes_end(ENDER_CALLS_FIRST, ENDER_FIRST)) return; /* with the other's code */
  if (!takes_end(ENDER_NONE, is_first ? ENDER_FIRST : ENDER_CALLS_FIRST)) wait_to_be_ended();
  engine->exit_code = exit_code;
  state.end_of_request = end;
  if (!is_first) call_first_thread(engine);
}

/* ---- the others ---- */

static void tell(pid_t thread, void *unused) {
  (void)unused;
  raw_call(SYS_tgkill, state.pid, thread, kThreadSignal);
}

/* Each look finds those that others have started meanwhile. */
static int tell_all(void) {
  call_touch(TOUCHED_THREADS);
  return handle_end() != 0 || threads_visit(tell, NULL) < 0 ? -1 : 0;
}

/* Refused while another thread, or another process in this memory, is alive; but not because of a
 * thread that is about to be gone, which may still write to memory and hold descriptors. */
static long share_nothing(unsigned long what) {
  long result = raw_call(SYS_unshare, what);
  if (result == -EPERM || result == -ENOSYS) return threads_of_process() == 1 ? 0 : -EINVAL;
  return result;
}

/* Descriptors and the folder, if they are shared with another process, are this process's own from
 * then on. */
static int is_alone(void) {
  if ((state.touched & TOUCHED_THREADS) != 0 && threads_of_process() != 1) return 0;
  return share_nothing(CLONE_VM | CLONE_FILES | CLONE_FS) == 0;
}

/* An ended thread may have been in a call whose effect was not yet noted. If all of them only
 * waited, there was no child and no dropped page of a file's that was not noted: to compare every
 * page costs more than all else. */
static void expect_what_it_did(struct engine *engine) {
  unsigned but = ended_amid ? 0 : TOUCHED_BY_OTHERS | TOUCHED_FILE_PAGES;
  engine->touched |= kTouchedUnseen & ~but;
}

int threads_have_ended(void) {
  enum { kLooks = 2 * kLooksAtOnce };
  /* Go's runtime has none that waits for anything by itself. */
  int has_others = parked_threads.count != 0 && !parked_threads.are_again && !program_is_go();
  if ((state.touched & TOUCHED_THREADS) == 0 && parked_threads.count == 0) return 1;
  for (int looks = 0; !has_others && looks < kLooks; ++looks) {
    if (threads_of_process() == 1) return 1;
    looks < kLooksAtOnce ? (void)raw_call(SYS_sched_yield) : thread_pause(kLookNanoseconds);
  }
  return 0;
}

int threads_end(struct engine *engine) {
  uint64_t until = 0;
  int are_told = 0;
  const char *why = "another thread is alive, and cannot be ended";
  if (state.ender == ENDER_OTHER) {
    strcpy(engine->reason, "another thread than the first ended the request");
    return 0;
  }
  if (engine->was_clean) {
    state.ender = ENDER_NONE;
    return 1;
  }
  for (int looks = 0; until == 0 || now_ns() < until; ++looks) {
    if (is_alone()) {
      if (are_told) expect_what_it_did(engine);
      state.ender = ENDER_NONE;
      is_handled = ended_amid = 0;
      return 1;
    }
    if (looks == 0) until = now_ns() + kPatience;
    if (threads_of_process() == 1) {
      why = "another process shares the memory";
    } else if (share_nothing(CLONE_VM) != 0) {
      if (tell_all() != 0) break;
      are_told = 1;
    }
    if (looks < kLooksAtOnce) {
      raw_call(SYS_sched_yield);
    } else {
      thread_pause(kLookNanoseconds);
    }
  }
  strcpy(engine->reason, why);
  return 0;
}
