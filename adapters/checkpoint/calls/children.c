/* Processes that a request makes as copies of its own: they must have nothing that reaches the
 * worker, whatever rights they keep or give up, and share nothing that outlives the request.
 * Children that execute a program thereby lose the library's descriptors (O_CLOEXEC). */
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "calls/passed_calls.h"
#include "calls/real_calls.h"
#include "load/load_watch.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/threads.h"

/* What a process may share with a copy of itself, apart from a thread. A shared descriptor table
 * would be shared with the next request, too, and so would a priority of input and output. */
static const unsigned long kShared = CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SYSVSEM | CLONE_IO;

/* In a child whose memory and descriptors are its own: the channel, and what this library has open
 * on the worker's memory (its maps, its userfaultfd), are the worker's alone. */
void child_forget(void) {
  if (state.role == ROLE_NONE || state.pid == getpid()) return;
  threads_end_forget();
  if (channel_is_ours()) {
    struct engine *engine =
        state.role == ROLE_ANSWERING && state.reset == RESET_REWIND ? state.engine : NULL;
    if (engine != NULL) {
      raw_call(SYS_close_range, engine->first_own_fd, engine->last_own_fd, 0);
    }
    close(state.channel);
  }
  state.role = ROLE_NONE;
}

static void forget_all(void) {
  processor_limit_of_child();
  child_forget();
}

/* fork() without the handlers of pthread_atfork(), for signal handlers. */
INTERPOSED pid_t _Fork(void) {
  call_touch(TOUCHED_SIGSYS);
  load_watch_note(IMPURE_CHILDREN, "_Fork", __builtin_return_address(0));
  pid_t pid =
      REAL(_Fork) != NULL ? REAL(_Fork)() : (pid_t)call_result(raw_call(SYS_clone, SIGCHLD));
  if (pid == 0) forget_all();
  return pid;
}

static void doubt_sharing(unsigned long flags) {
  call_touch(TOUCHED_SIGSYS);
  if ((flags & CLONE_THREAD) != 0) return call_touch(TOUCHED_THREADS);
  if ((flags & kShared) != 0) call_doubt(RETIRED_CHILDREN, "clone, with something that is shared");
}

/* ---- clone() ---- */

struct start {
  int (*function)(void *);
  void *argument;
};

static int start_child(void *started) {
  struct start start = *(struct start *)started;
  forget_all();
  return start.function(start.argument);
}

typedef int clone_function(int (*)(void *), void *, int, void *, ...);

static int clone_a_copy(int (*function)(void *), void *stack, int flags, void *argument, ...) {
  struct start start = {function, argument}; /* the child has its own copy of this frame */
  va_list list;
  va_start(list, argument);
  void *parent_id = va_arg(list, void *), *block = va_arg(list, void *);
  void *child_id = va_arg(list, void *);
  va_end(list);
  return ((clone_function *)passed_clone.real)(start_child, stack, flags, &start, parent_id, block,
                                               child_id);
}

void *look_at_clone(const struct passed_call *call, const long *arguments) {
  unsigned long flags = (unsigned long)(unsigned)arguments[2];
  load_watch_note(IMPURE_CHILDREN, call->name, caller_of(arguments));
  doubt_sharing(flags);
  return (flags & kShared) == 0 && passed_clone.real != NULL ? (void *)(uintptr_t)clone_a_copy
                                                             : NULL;
}

/* ---- by number ---- */

static unsigned long flags_by_number(long number, const long *words) {
  if (number == SYS_clone) return (unsigned long)words[0];
  const struct clone_args *wanted = (const struct clone_args *)words[0];
  return number == SYS_clone3 && may_be_memory(wanted) ? wanted->flags : 0;
}

int child_by_number(long number) {
#ifdef SYS_fork
  if (number == SYS_fork) return 1;
#endif
  return number == SYS_clone || number == SYS_clone3;
}

static int has_own_stack(long number, const long *words) {
  if (number == SYS_clone) return words[1] != 0;
  const struct clone_args *wanted = (const struct clone_args *)words[0];
  return number == SYS_clone3 && may_be_memory(wanted) && wanted->stack != 0;
}

int child_is_plain_copy(long number, const long *words) {
  return child_by_number(number) && (flags_by_number(number, words) & CLONE_VM) == 0 &&
         !has_own_stack(number, words);
}

void child_note_other(long number, const long *words) {
  unsigned long flags = flags_by_number(number, words);
  call_touch(TOUCHED_SIGSYS);
  if ((flags & CLONE_VFORK) != 0) return; /* it is waited for */
  doubt_sharing(flags);
  if ((flags & CLONE_VM) == 0) call_doubt(RETIRED_CHILDREN, "clone, for a child with its stack");
}

long child_make_by_number(long number, const long *words) {
  unsigned long flags = flags_by_number(number, words);
  doubt_sharing(flags);
  long result = raw_call6(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  if (result == 0 && (flags & kShared) == 0) forget_all();
  return result;
}
