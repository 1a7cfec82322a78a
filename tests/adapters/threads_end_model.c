/* All interleavings of threads that end a request, with a bounded number of preemptions: the real
 * code of rewind/threads_end.c, whose atomic operations and system calls are points at which
 * another thread may go on. Threads are coroutines; the paths through all choices are taken one
 * after another. (Musuvathi and Qadeer, "Iterative Context Bounding for Systematic Testing of
 * Multithreaded Programs", PLDI 2007.)
 *
 *     threads_end_model OTHERS FIRST PREEMPTIONS
 *
 * OTHERS threads end the request with their own codes, while the first one does what FIRST says: x
 * (ends it, too), u (runs code of its own), or g (has been ended by pthread_exit()). Prints how
 * many paths were taken; or what went wrong, and ends with 1. */
#define CGIBRIDGE_RAW_CALL_H /* instead of raw_call.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

static long model_call(long number, long a, long b, long c, long d);
static void step(void);
#define CALL_OF(number, a, b, c, d, ...) \
  model_call((long)(number), (long)(a), (long)(b), (long)(c), (long)(d))
#define raw_call(...) CALL_OF(__VA_ARGS__, 0, 0, 0, 0, 0)
#define libc_call raw_call

#include "rewind/threads.h"
#define __atomic_compare_exchange_n(...) (step(), __atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_load_n(...) (step(), __atomic_load_n(__VA_ARGS__))
#include "rewind/threads_end.c"

enum { kTasksMost = 4, kStackBytes = 1 << 16, kChoicesMost = 4096, kFirstId = 100 };
enum status { STATUS_RUNS, STATUS_WAITS, STATUS_SLEEPS, STATUS_GONE };

struct task {
  ucontext_t context;
  enum status status;
  int is_open;   /* to the signal that ends threads */
  int is_told;   /* it is pending */
  unsigned seen; /* what had changed when it began to sleep */
  int is_idle;   /* it has slept, looked, and found nothing new */
};
static struct task tasks[kTasksMost];
static char stacks[kTasksMost][kStackBytes];
static ucontext_t scheduler;
static int task_count, current, preemptions_left, preemptions_most;
static int others, first_deed; /* the scenario */
static unsigned changes;       /* of what is shared */
static int has_passed;         /* the time that a thread waits for another */
static int waited_in_vain;     /* for it, because nobody else could go on */
static int enders, ender, end_result;
static const char *failure;

struct checkpoint_state state;
struct parked_threads parked_threads;
static struct engine engine;

/* ---- choices: the same prefix as last time, and the next one of the last that has another ---- */

static int taken[kChoicesMost], offered[kChoicesMost], depth, length;

static int choose(int options) {
  if (depth == kChoicesMost) {
    printf("it goes on and on\n");
    exit(1);
  }
  if (depth == length) {
    taken[length] = 0;
    ++length;
  }
  offered[depth] = options;
  return taken[depth++];
}

static int next_path(void) {
  while (length > 0 && taken[length - 1] + 1 == offered[length - 1]) --length;
  if (length == 0) return 0;
  ++taken[length - 1];
  return 1;
}

/* ---- tasks ---- */

static int can_run(int task) {
  struct task *one = &tasks[task];
  if (one->status == STATUS_SLEEPS && one->seen != changes) one->status = STATUS_RUNS;
  if (one->status == STATUS_WAITS && one->is_told && one->is_open) one->status = STATUS_RUNS;
  return one->status == STATUS_RUNS;
}

static void leave(void) {
  swapcontext(&tasks[current].context, &scheduler);
}

static void take_signal(void) {
  struct task *self = &tasks[current];
  while (self->is_told && self->is_open) {
    ucontext_t nowhere;
    memset(&nowhere, 0, sizeof nowhere);
    self->is_told = self->is_open = 0;
    on_end(kThreadSignal, NULL, &nowhere);
    self->is_open = 1;
  }
}

/* Another thread may go on here. */
static void step(void) {
  leave();
  take_signal();
}

static void wait_for_signal(void) {
  tasks[current].status = STATUS_WAITS;
  step();
}

static _Noreturn void go(void) {
  tasks[current].status = STATUS_GONE;
  for (;;) leave();
}

/* Sleeps until something has changed, or until the time is over: either may come first. */
static void sleep_a_little(void) {
  struct task *self = &tasks[current];
  if (!has_passed && choose(2) == 1) {
    has_passed = 1;
    ++changes;
  }
  self->is_idle = self->seen == changes;
  self->seen = changes;
  self->status = STATUS_SLEEPS;
  step();
}

/* ---- the kernel ---- */

static int alive(void) {
  int count = 0;
  for (int i = 0; i < task_count; ++i) count += tasks[i].status != STATUS_GONE;
  return count;
}

static long tell_task(long id) {
  struct task *task = &tasks[id - kFirstId];
  if (task->status == STATUS_GONE) return -ESRCH;
  task->is_told = 1;
  ++changes;
  return 0;
}

static long model_call(long number, long a, long b, long c, long d) {
  (void)d;
  step();
  switch (number) {
    case SYS_gettid:
      return kFirstId + current;
    case SYS_clock_gettime:
      *(struct timespec *)b = (struct timespec){has_passed ? 10 : 1, 0};
      return 0;
    case SYS_tgkill:
      return tell_task(b);
    case SYS_rt_sigprocmask:
      tasks[current].is_open = 1; /* as wait_to_be_ended() does, which is all that asks */
      return 0;
    case SYS_ppoll:
      wait_for_signal();
      return -EINTR;
    case SYS_exit:
      ++changes;
      go();
    case SYS_pread64:
      strcpy((char *)b, tasks[0].status == STATUS_GONE ? "100 (x) Z" : "100 (x) S");
      return c > 0 ? 9 : 0;
    case SYS_unshare:
      return alive() == 1 ? 0 : -EINVAL;
    case SYS_sched_yield:
      tasks[current].seen = changes;
      return 0;
    default:
      return 0;
  }
}

unsigned threads_of_process(void) {
  return (unsigned)alive();
}

long threads_visit(thread_visit *visit, void *context) {
  long count = 0;
  for (int i = 0; i < task_count; ++i) {
    if (i == current || tasks[i].status == STATUS_GONE) continue;
    visit(kFirstId + i, context);
    ++count;
  }
  return count;
}

int threads_handle(thread_handler *handler, struct signal_action *before) {
  (void)handler;
  (void)before;
  step();
  return 0;
}

void thread_pause(long nanoseconds) {
  (void)nanoseconds;
  sleep_a_little();
}

void call_touch(unsigned what) {
  state.touched |= what;
}

int is_of_this_library(const void *address) {
  (void)address;
  return 0;
}

int program_is_static(void) {
  return 0;
}

int program_is_go(void) {
  return 0;
}

int program_has_traps(void) {
  return 0;
}

/* ---- who ends ---- */

static void end_here(void) {
  ++enders;
  ender = current;
  end_result = threads_end(&engine);
  go();
}

_Noreturn void context_call_on(void *stack, void (*function)(void)) {
  (void)stack;
  function();
  go();
}

static void run_task(void) {
  struct task *self = &tasks[current];
  step();
  if (current == 0 && first_deed == 'g') {
    ++changes;
    go();
  }
  if (current == 0 && first_deed == 'u') {
    for (;;) wait_for_signal();
  }
  self->is_open = 0; /* exit() blocks all signals first */
  threads_claim_end(current == 0 ? LEAVER_FIRST : LEAVER_OTHER, 10 + current, end_here);
  end_here();
}

/* ---- one path ---- */

static void begin_path(void) {
  memset(&state, 0, sizeof state);
  memset(&engine, 0, sizeof engine);
  state.engine = &engine;
  state.pid = kFirstId;
  state.reset = RESET_REWIND;
  state.touched = TOUCHED_THREADS;
  is_handled = ended_amid = has_passed = waited_in_vain = enders = end_result = 0;
  ender = -1;
  changes = 1;
  depth = 0;
  task_count = others + 1;
  preemptions_left = preemptions_most;
  for (int i = 0; i < task_count; ++i) {
    struct task *task = &tasks[i];
    getcontext(&task->context);
    task->context.uc_stack.ss_sp = stacks[i];
    task->context.uc_stack.ss_size = kStackBytes;
    task->context.uc_link = &scheduler;
    makecontext(&task->context, run_task, 0);
    task->status = STATUS_RUNS;
    task->is_open = 1;
    task->is_told = task->is_idle = 0;
    task->seen = 0;
  }
}

/* The one that ran goes on for nothing; to take its turn away costs one of the preemptions. */
static int pick(int last) {
  int able[kTasksMost], count = 0;
  if (last >= 0 && can_run(last)) able[count++] = last;
  for (int i = 0; i < task_count; ++i) {
    if (i != last && can_run(i)) able[count++] = i;
  }
  if (count == 0) return -1;
  int goes_on = able[0] == last;
  if (goes_on && preemptions_left == 0) count = 1;
  int chosen = able[count == 1 ? 0 : choose(count)];
  if (goes_on && chosen != last) --preemptions_left;
  return chosen;
}

/* Nobody can go on: who sleeps looks once more, and then waits until the time is over. */
static int wake_sleeper(void) {
  for (int i = 0; i < task_count; ++i) {
    if (tasks[i].status != STATUS_SLEEPS || tasks[i].is_idle) continue;
    tasks[i].status = STATUS_RUNS;
    return 1;
  }
  if (has_passed) return 0;
  for (int i = 0; i < task_count; ++i) waited_in_vain |= tasks[i].status == STATUS_SLEEPS;
  has_passed = 1;
  ++changes;
  return waited_in_vain;
}

static const char *what_is_wrong(void) {
  int is_gone = first_deed == 'g';
  if (enders == 0) return "nobody ends the request";
  if (enders > 1) return "two threads end the request";
  if (!has_passed && !is_gone && ender != 0)
    return "another thread ends it, although the first can";
  if (waited_in_vain) return "a thread waits for what nobody does";
  if (ender == 0 && end_result != 1 && !has_passed)
    return "it gave up on threads that can be ended";
  if (end_result == 1 && alive() != 0) return "it is over, and others live";
  if (ender == 0 && first_deed == 'u' && engine.exit_code == 0) return "it has no thread's code";
  if (engine.exit_code < 10 || engine.exit_code > 10 + others) return "it has nobody's code";
  return NULL;
}

static void run_path(void) {
  begin_path();
  for (current = -1;;) {
    int next = pick(current);
    if (next < 0 && wake_sleeper()) continue;
    if (next < 0) break;
    current = next;
    swapcontext(&scheduler, &tasks[next].context);
  }
  failure = what_is_wrong();
}

int main(int argc, char **argv) {
  long paths = 0;
  if (argc != 4) return 2;
  others = atoi(argv[1]);
  first_deed = argv[2][0];
  preemptions_most = atoi(argv[3]);
  do {
    run_path();
    ++paths;
  } while (failure == NULL && next_path());
  if (failure == NULL) {
    printf("%ld paths\n", paths);
    return 0;
  }
  printf("%s (path %ld:", failure, paths);
  for (int i = 0; i < depth; ++i) printf(" %d", taken[i]);
  printf("), ender %d code %d result %d\n", ender, engine.exit_code, end_result);
  return 1;
}
