/* The end of a request, as far as it can be seen at once: what retires a worker and must be
 * reported to the bridge before it sends another request. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "calls/named_files.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/threads.h"

/* For when there is no group to move to: one call returns the best I/O priority in a group, and
 * this process's own can be made the worst for a moment. Members that have the worst themselves are
 * not seen. */
static int seems_alone_in_group(const struct kernel_state *kernel) {
  enum { kProcess = 1, kGroup = 2, kIdle = 3 << 13 };
  if (raw_call(SYS_ioprio_set, kProcess, 0, kIdle) != 0) return 1;
  long best = raw_call(SYS_ioprio_get, kGroup, kernel->words.process_group);
  raw_call(SYS_ioprio_set, kProcess, 0, kernel->io_priority);
  return best < 0 || best >> 13 == kIdle >> 13;
}

/* Whether the process group has no other member: a grandchild that nobody waits for would get the
 * next request's signals. No call lists a group, but a group that its leader has left for a moment
 * can be signalled only if there is somebody else in it. */
int group_is_ours_alone(const struct kernel_state *kernel) {
  long own = kernel->words.process_group;
  if (own != state.pid || kernel->group_aside <= 0 ||
      raw_call(SYS_setpgid, 0, kernel->group_aside) != 0) {
    return seems_alone_in_group(kernel);
  }
  long others = raw_call(SYS_kill, -own, 0);
  return raw_call(SYS_setpgid, 0, own) == 0 && others == -ESRCH;
}

/* By an instruction of the program's own, while no call was handed back. */
static int may_have_unseen_child(const struct engine *engine) {
  return !program_has_traps() && (!engine->clean.hands_back_calls || calls_have_passed(engine));
}

/* struct rseq: the kernel looks at what a program leaves there whenever it interrupts the process,
 * even when the memory that it points into is gone. */
static void leave_restart_section(const struct engine *engine) {
  enum { kCriticalSection = 8 };
  if (engine->volatile_words == NULL) return;
  volatile uint64_t *section = (volatile uint64_t *)(engine->volatile_words + kCriticalSection);
  if (*section != 0) *section = 0;
}

/* Children that have ended are let go, as they are when a process ends that has not waited for
 * them. What they have left elsewhere is looked at as for those that were waited for. */
static int child_lives(void) {
  siginfo_t child = {0};
  while (raw_call(SYS_waitid, P_ALL, 0, &child, WEXITED | WNOHANG | __WALL, NULL) == 0) {
    if (child.si_pid == 0) return 1;
    child.si_pid = 0;
  }
  return 0;
}

enum retirement first_look(struct engine *engine) {
  leave_restart_section(engine);
  int is_alone = threads_end(engine);
  engine->touched |= state.touched;
  engine->touched_signals = state.touched_signals;
  if (!is_alone) return RETIRED_THREADS;
  if (!timers_are_noted()) call_doubt(RETIRED_CALL, "a call on a timer, which was not finished");
  if (named_files_are_left(engine->reason, sizeof engine->reason)) return RETIRED_CALL;
  if (engine->was_clean) return RETIRED_NOT;
  if (child_lives()) {
    strcpy(engine->reason, "a child process was not waited for and runs on");
    return RETIRED_CHILDREN;
  }
  if (!group_is_ours_alone(&engine->kernel)) {
    strcpy(engine->reason, "a process that the request started lives on in its process group");
    return RETIRED_CHILDREN;
  }
  if (state.doubt != RETIRED_NOT) {
    strcpy(engine->reason, "the program called ");
    strcat(engine->reason, state.doubtful_call);
    return state.doubt;
  }
  return may_have_unseen_child(engine) ? own_files_check(engine) : RETIRED_NOT;
}
