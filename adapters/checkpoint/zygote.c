/* The zygote's loop: one worker for each MESSAGE_FORK, until the bridge is gone. A program that
 * cannot be forked at its checkpoint (it has threads) becomes the worker itself at the first
 * message. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"

static void report_failure(const struct message_fork *fork, const char *reason) {
  channel_send(MESSAGE_FORK_FAILED, fork, sizeof *fork, reason, strlen(reason), PATIENCE_SECOND);
}

/* Returns 1 in the worker, 0 in the zygote. */
static int fork_worker(const struct message_fork *fork, int channel) {
  char reason[kReasonMax];
  unsigned threads = threads_of_process();
  if (threads > 1) {
    snprintf(reason, sizeof reason, "the program has %u threads at its checkpoint", threads);
    report_failure(fork, reason);
    return 0;
  }
  int rewinds = state.reset == RESET_REWIND;
  pid_t pid = rewinds ? rewind_fork_worker(channel) : clone_worker();
  if (pid < 0) {
    snprintf(reason, sizeof reason, "clone: %s%s", strerrorname_np(errno),
             errno == EINVAL ? " (the program's parent is the first of its pid namespace?)" : "");
    report_failure(fork, reason);
  }
  if (pid != 0) return 0;
  worker_begin(channel, fork->worker_id);
  return 1;
}

void zygote_serve(void) {
  for (;;) {
    union {
      struct message_fork fork;
      struct message_verify verify;
    } body;
    uint16_t type = 0;
    int fds[MESSAGE_FDS_MAX], fd_count = 0;
    ssize_t bytes = channel_receive(&type, &body, sizeof body, fds, &fd_count);
    if (type == MESSAGE_VERIFY && bytes == (ssize_t)sizeof body.verify && fd_count == 0) {
      verify_worker(&body.verify);
      continue;
    }
    if (bytes != (ssize_t)sizeof body.fork || type != MESSAGE_FORK || fd_count != 1) give_up(0);
    if (state.is_ahead) {
      worker_begin(fds[0], body.fork.worker_id);
      return;
    }
    if (fork_worker(&body.fork, fds[0])) return;
    close(fds[0]);
  }
}
