/* The checkpoint: the zygote says that it stands there, and why it cannot if so. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"

_Noreturn void checkpoint_refuse(const char *reason) {
  channel_note(NOTE_SHALLOWER, reason, strlen(reason));
  _exit(0);
}

void checkpoint_stand(void) {
  char reason[kReasonMax];
  if (state.request_variable[0] != '\0') {
    snprintf(reason, sizeof reason, "reads the environment's %s before the checkpoint",
             state.request_variable);
    checkpoint_refuse(reason);
  }
  if (stillness_check(reason, sizeof reason) != 0) checkpoint_refuse(reason);
  struct message_checkpoint body = {.level = (uint32_t)state.level,
                                    .threads = threads_of_process()};
  if (channel_send(MESSAGE_CHECKPOINT, &body, sizeof body, NULL, 0, PATIENCE_SECOND) != 0) _exit(0);
  zygote_serve();
}
