/* Generators that a request seeds by its process id. With rewind one process answers many requests,
 * so srand(time(NULL) ^ getpid()) would give two visitors of one second the same numbers, which it
 * does not in processes of their own. The worker then retires, and the next request has another
 * process. Who has asked for the time more exactly is taken to use that, for one seed: zsh and ksh
 * seed so at each start, before a script does. But a seed that is made of the second and the id, in
 * one of the usual ways, is one even then. */
#include <stdio.h>
#include <time.h>

#include "calls/passed_calls.h"
#include "load/load_watch.h"
#include "raw_call.h"
#include "rewind/engine.h"

static int is_answering(void) {
  return state.role == ROLE_ANSWERING && state.reset == RESET_REWIND;
}

void seeds_see_number(const void *caller) {
  if (!is_answering() || state.load.number_asked_by == state.request.id) return;
  if (is_of_this_library(caller)) return;
  if (python_seeds_watch(caller)) state.load.number_asked_by = state.request.id;
}

void seeds_see_moment(void) {
  if (is_answering()) state.load.moment_asked_by = state.request.id;
}

void seeds_made_of_number(const char *call) {
  char what[64];
  if (!is_answering()) return;
  snprintf(what, sizeof what, "%s after asking for its process id", call);
  call_doubt(RETIRED_CALL, what);
}

void seeds_see_seed(const char *call) {
  uint64_t request = state.request.id, moment = state.load.moment_asked_by;
  if (!is_answering() || state.load.number_asked_by != request) return;
  state.load.moment_asked_by = 0;
  if (moment != request) seeds_made_of_number(call);
}

static int is_of_second(unsigned seed) {
  unsigned own = (unsigned)state.pid;
  struct timespec now;
  raw_call(SYS_clock_gettime, CLOCK_REALTIME, &now);
  for (unsigned second = (unsigned)now.tv_sec, i = 0; i < 2; ++i, --second) {
    const unsigned usual[] = {own,          second ^ own, second + own,
                              second - own, second * own, second | own};
    for (size_t n = 0; n < sizeof usual / sizeof *usual; ++n)
      if (seed == usual[n]) return 1;
  }
  return 0;
}

void *look_at_seed(const struct passed_call *call, const long *arguments) {
  if (is_answering() && is_of_second((unsigned)arguments[0])) {
    seeds_made_of_number(call->name);
  } else {
    seeds_see_seed(call->name);
  }
  return NULL;
}
