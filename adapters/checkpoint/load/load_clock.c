/* Which reading of a clock tells a load more than a duration. A moment that is kept shows the
 * load's age, or seeds a generator, whatever its clock counts from: the machine's start, the
 * process's, or the processor time that was used. */
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "calls/passed_calls.h"
#include "load/trial.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "usage.h"

/* Whether an adapter brings modules of such a language ahead. Node watches its own functions, and
 * Java's virtual machine measures itself all the time. */
static int is_of_language(void) {
  static const char *const kNames[] = {"Py_GetVersion", "rb_require", "PL_thr_key", "Tcl_Eval"};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    if (any_symbol(kNames[i]) != NULL) return 1;
  }
  return 0;
}

typedef uintptr_t method_now(void);
typedef const char *name_of_method(uintptr_t);

/* Ruby's own collector, timer and queues read clocks between any two lines. What a library asks for
 * comes by a method, whose original name is that of the innermost frame. */
static int is_asked_by_method(void) {
  static const char *const kMethods[] = {"clock_gettime", "times", "syscall"};
  method_now *method_of = (method_now *)any_symbol("rb_frame_this_func");
  name_of_method *name_of = (name_of_method *)any_symbol("rb_id2name");
  if (method_of == NULL || name_of == NULL || state.call.phase == CALL_UNOPENED) return 0;
  if (raw_call(SYS_gettid) != state.pid) return 0; /* perhaps not a thread of Ruby's */
  const char *name = name_of(method_of());
  for (size_t i = 0; name != NULL && i < sizeof kMethods / sizeof *kMethods; ++i) {
    if (strcmp(name, kMethods[i]) == 0) return 1;
  }
  return 0;
}

static int begins_with(const char *library, const char *name) {
  return strncmp(library, name, strlen(name)) == 0;
}

/* Perl and Tcl make such calls for nobody else but what they run. */
static int is_by_program(int does_python, const void *caller) {
  if (trial_is_on() || !is_of_language()) return 0;
  const char *library = load_watch_library_of(caller);
  if (library == NULL) return 1;
  if (begins_with(library, "libruby")) return is_asked_by_method();
  int is_python = begins_with(library, "python3") || begins_with(library, "libpython3");
  return !is_python || !does_python;
}

int load_watch_is_by_program(const void *caller) {
  return is_by_program(1, caller);
}

int load_watch_tells_time(clockid_t clock, const void *caller) {
  if (state.level == LEVEL_LINKED) return 1;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI) return 1;
  return is_by_program(clock == CLOCK_MONOTONIC /* python_clocks.c */, caller);
}

void *look_at_clock(const struct passed_call *call, const long *arguments) {
  seeds_see_moment();
  if (state.load.is_on && load_watch_tells_time((clockid_t)arguments[0], caller_of(arguments))) {
    load_watch_note(IMPURE_TIME, call->name, caller_of(arguments));
  }
  return processor_clock_instead((clockid_t)arguments[0]);
}

void load_watch_note_processor_time(const char *function, const void *caller) {
  if (state.load.is_on && load_watch_tells_time(CLOCK_PROCESS_CPUTIME_ID, caller)) {
    load_watch_note(IMPURE_TIME, function, caller);
  }
}
