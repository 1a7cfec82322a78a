/* For an interpreter that takes long to end once the program can do nothing more: it announces that
 * its next turn in its event loop belongs to its end, and DONE is sent there. */
#include <link.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "calls/clean.h"
#include "calls/real_calls.h"
#include "checkpoint.h"
#include "ending.h"
#include "go/program.h"
#include "rewind/threads_missing.h"

static int give_loads(struct dl_phdr_info *info, size_t bytes, void *loads) {
  (void)bytes;
  *(unsigned long long *)loads = info->dlpi_adds;
  return 1;
}

unsigned long long ending_count_loads(void) {
  unsigned long long loads = 0;
  dl_iterate_phdr(give_loads, &loads);
  return loads;
}

/* A library that was loaded later may write at its own end: then the interpreter ends by itself, as
 * far as ending_leave(). */
int ending_expect(int exit_code) {
  int expected = (exit_code & 0xff) + 1;
  if (ending_count_loads() != state.loads_at_start) {
    state.teardown_expected = expected;
    return -1;
  }
  state.end_expected = expected;
  return 0;
}

int ending_frees_all(void) {
  return state.teardown_expected != 0 && state.reset == RESET_REWIND &&
         state.role == ROLE_ANSWERING && gettid() == state.pid;
}

void ending_leave(void) {
  int expected = state.teardown_expected;
  if (!ending_frees_all()) return;
  state.teardown_expected = 0;
  exit(expected - 1);
}

/* Other threads have loops of their own. By then Node has ended those that its program started, so
 * a thread that hangs keeps the request open, as it does in classic. A worker that is put back
 * needs no end at all; a forked one goes through it, with its own pipes. */
static void waits_for_events(void) {
  if (state.end_expected == 0 || state.role != ROLE_ANSWERING || gettid() != state.pid) return;
  int exit_code = state.end_expected - 1;
  if (state.reset == RESET_REWIND) worker_finish(exit_code, NULL);
  if (state.is_ahead) worker_done(exit_code);
}

/* The two calls by which libuv waits, the newer and the older. */
INTERPOSED int epoll_pwait(int epoll, struct epoll_event *events, int events_max, int timeout,
                           const sigset_t *signals) {
  waits_for_events();
  clean_note_mask(SIG_SETMASK, signals);
  if (timeout != 0) go_threads_see_wait();
  if (signals != NULL) threads_needed();
  return REAL(epoll_pwait)(epoll, events, events_max, timeout, signals);
}

INTERPOSED int epoll_wait(int epoll, struct epoll_event *events, int events_max, int timeout) {
  waits_for_events();
  if (timeout != 0) go_threads_see_wait();
  return REAL(epoll_wait)(epoll, events, events_max, timeout);
}
