/* Generators that a request seeds by its process id. With rewind one process answers many requests,
 * so srand(time(NULL) ^ getpid()) would give two visitors of one second the same numbers, which it
 * does not in processes of their own. The worker then retires, and the next request has another
 * process. Who has asked for the time more exactly is taken to use that. */
#include <stdio.h>

#include "calls/passed_calls.h"
#include "load/load_watch.h"
#include "rewind/engine.h"

static int is_answering(void) {
  return state.role == ROLE_ANSWERING && state.reset == RESET_REWIND;
}

void seeds_see_number(void) {
  if (is_answering()) state.load.number_asked_by = state.request.id;
}

void seeds_see_moment(void) {
  if (is_answering()) state.load.moment_asked_by = state.request.id;
}

void seeds_see_seed(const char *call) {
  uint64_t request = state.request.id;
  char what[64];
  if (!is_answering() || state.load.number_asked_by != request) return;
  if (state.load.moment_asked_by == request) return;
  snprintf(what, sizeof what, "%s after it had asked for its process id", call);
  call_doubt(RETIRED_CALL, what);
}

void *look_at_seed(const struct passed_call *call, const long *arguments) {
  (void)arguments;
  seeds_see_seed(call->name);
  return NULL;
}
