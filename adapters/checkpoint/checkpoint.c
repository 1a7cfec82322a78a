/* The checkpoint: the zygote reports that it is ready, or why it cannot be. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "calls/passed_calls.h"
#include "calls/real_calls.h"
#include "load/trial.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/kept_at_exec.h"
#include "rewind/threads.h"
#include "uncopied.h"

_Noreturn void checkpoint_refuse(const char *reason) {
  trial_fall_back(reason);
  channel_note(NOTE_SHALLOWER, reason, strlen(reason));
  give_up(0);
}

/* A fork would lack the threads: they are made again in each worker. Some libraries end theirs
 * before a fork. The bridge sees a failure by the number of threads, which the process still
 * has. */
static void end_threads(char *reason, size_t reason_bytes) {
  sigset_t all, before;
  sigfillset(&all);
  fork_handlers_prepare();
  fork_handlers_parent();
  sigprocmask(SIG_BLOCK, &all, &before);
  if (threads_park(reason, reason_bytes) == 0 && threads_end_parked() != 0) {
    checkpoint_refuse("one of its threads does not end");
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
}

static int has_named_itself(void) {
  char name[sizeof state.launched_name] = "";
  raw_call(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
  return strcmp(name, state.launched_name) != 0;
}

void checkpoint_stand(void) {
  char reason[kReasonMax];
  cycles_leave();
  if (state.request_variable[0] != '\0') {
    snprintf(reason, sizeof reason, "reads the environment's %s before the checkpoint",
             state.request_variable);
    checkpoint_refuse(reason);
  }
  if (state.level == LEVEL_LINKED && !state.is_ahead && load_watch_found()[0] != '\0') {
    load_watch_refuse();
  }
  if (state.level == LEVEL_LINKED && !state.is_ahead && environment_note_changes() != 0) {
    checkpoint_refuse("changes the environment before main()");
  }
  const char *uncopied = state.is_ahead ? NULL : uncopied_streams();
  if (uncopied != NULL) checkpoint_refuse(uncopied);
  load_watch_end();
  kept_remember_checkpoint();
  state.processor.before = usage_now(NULL);
  if (state.reset == RESET_REWIND) {
    passed_calls_find();
    real_calls_find();
  }
  /* A process that is never copied may hold what it likes: threads, timers, sockets. */
  if (!state.is_ahead && stillness_check(reason, sizeof reason) != 0) checkpoint_refuse(reason);
  environment_watch_tell();
  if (state.is_ahead) descriptors_remember_checkpoint();
  lookups_tell();
  const int level = program_is_go() ? go_program_level() : state.level;
  struct message_checkpoint body = {.level = (uint32_t)level};
  strcpy(reason, state.weaker);
  if (state.name[0] != '\0' && !has_named_itself()) {
    raw_call(SYS_prctl, PR_SET_NAME, state.name, 0, 0, 0);
  }
  if (state.level != LEVEL_LINKED) heap_take_free_pieces();
  if (state.is_ahead && state.reset == RESET_REWIND) {
    strcpy(reason, "a process that was not forked is not put back");
    state.reset = RESET_FORK;
  }
  if (state.reset == RESET_REWIND) {
    int result = rewind_prepare(reason, sizeof reason);
    if (result == 1) { /* in a worker, with a request */
      errno = 0;
      return;
    }
    if (result != 0) state.reset = RESET_FORK;
  }
  if (!state.is_ahead && threads_of_process() > 1) end_threads(reason, sizeof reason);
  body.threads = threads_of_process();
  body.reset = (uint32_t)state.reset;
  body.text_bytes = (uint32_t)strlen(reason);
  if (channel_send(MESSAGE_CHECKPOINT, &body, sizeof body, reason, body.text_bytes,
                   PATIENCE_SECOND) != 0) {
    give_up(0);
  }
  zygote_serve();
  errno = 0;
}
