/* A worker's life: ready, one request, done. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "calls/clean.h"
#include "load/trial.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/hand_over.h"
#include "rewind/inherited.h"
#include "rewind/take_request.h"
#include "rewind/threads.h"
#include "usage.h"

/* Exit codes of a worker that could not even start its request; the bridge logs them. */
enum { kBadRequest = 70, kNoDirectory = 72 };

/* The request's packet stays here while the program runs: its strings are the program's argv and
 * environment. Mapped in a worker only, so that a snapshot does not hold it. */
enum { kPointersInPlace = 512 };
struct mailbox {
  struct packet packet;
  char *pointers[kPointersInPlace];
};
static struct mailbox *mailbox;

static struct usage usage_at_start; /* of the request */

const struct usage *worker_usage_at_start(void) {
  return &usage_at_start;
}

static char *map_text(int memfd, size_t bytes) {
  struct stat status;
  if (fstat(memfd, &status) != 0 || (size_t)status.st_size < bytes || bytes == 0) return NULL;
  void *text = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, memfd, 0);
  close(memfd);
  return text == MAP_FAILED ? NULL : text;
}

static void put_in_place(const int *fds) {
  for (int i = 0; i < MESSAGE_REQUEST_FDS; ++i) {
    if (dup2(fds[i], i) < 0) give_up(kBadRequest);
  }
  for (int i = 0; i < MESSAGE_REQUEST_FDS; ++i) {
    if (fds[i] > 2) close(fds[i]);
  }
}

static void become_fresh(void) {
  worker_enter_directory();
  /* As the bridge does for what it launches itself. */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

void worker_enter_directory(void) {
  if (chdir(state.request.cwd) == 0) return;
  dprintf(2, "cgibridge: cannot enter %s: %s\n", state.request.cwd, strerrorname_np(errno));
  give_up(kNoDirectory);
}

/* Returns -1 if no request will come. */
static int wait_for_request(void) {
  int fds[MESSAGE_FDS_MAX], fd_count = 0;
  uint16_t type = 0;
  struct packet *packet = &mailbox->packet;
  ssize_t bytes = channel_receive(&type, packet, sizeof *packet, fds, &fd_count);
  if (bytes < 0) return -1;
  if (type != MESSAGE_REQUEST || bytes < (ssize_t)sizeof packet->head) give_up(kBadRequest);
  int with_memfd = (packet->head.flags & REQUEST_IN_MEMFD) != 0;
  int by_peer = (packet->head.flags & REQUEST_BY_PEER) != 0;
  int streams = by_peer ? 1 : MESSAGE_REQUEST_FDS;
  if (fd_count != streams + with_memfd) give_up(kBadRequest);
  char *text = packet->text;
  if (with_memfd) {
    text = map_text(fds[streams], packet->head.strings_bytes);
  } else if ((size_t)bytes - sizeof packet->head != packet->head.strings_bytes) {
    text = NULL;
  }
  if (text == NULL ||
      request_parse(&state.request, &packet->head, text, mailbox->pointers, kPointersInPlace) != 0)
    give_up(kBadRequest);
  usage_at_start = usage_now(NULL);
  cpu_limit_renew();
  if (!by_peer) {
    put_in_place(fds);
  } else if (inherited_take(fds[0]) != 0) {
    give_up(kBadRequest);
  }
  become_fresh();
  state.call.argv_offset = state.call.env_offset = 0;
  state.touched = 0;
  return 0;
}

void worker_begin(int channel, uint64_t worker_id) {
  (void)worker_id;
  state.role = ROLE_WORKER;
  state.pid = getpid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != state.bridge_pid)
    give_up(0); /* the bridge died before the signal was requested */
  setpgid(0, 0);
  mailbox = mmap(NULL, sizeof *mailbox, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mailbox == MAP_FAILED) give_up(kBadRequest);
  close(state.channel);
  int high = descriptor_move_high(channel);
  if (high < 0 || descriptors_make_private() != 0) give_up(kBadRequest);
  channel_adopt(high);
  struct message_ready body = {.pid = state.pid};
  if (channel_send(MESSAGE_READY, &body, sizeof body, NULL, 0, PATIENCE_SECOND) != 0) give_up(0);
  if (wait_for_request() != 0) give_up(0);
  state.role = ROLE_ANSWERING;
  threads_begin_request();
}

static void say_done(int exit_code, int stays) {
  struct message_done body = {
      .request_id = state.request.id, .exit_code = exit_code & 0xff, .stays = (uint32_t)stays};
  struct usage now = usage_now(NULL);
  usage_fill(&body, &usage_at_start, &now);
  channel_send(MESSAGE_DONE, &body, sizeof body, NULL, 0, PATIENCE_SECOND);
}

int worker_next(int exit_code) {
  descriptors_give_streams_back();
  say_done(exit_code, 1);
  state.role = ROLE_WORKER;
  if (wait_for_request() != 0) return -1;
  state.role = ROLE_ANSWERING;
  return 0;
}

void worker_done(int exit_code) {
  fflush(NULL);
  descriptors_stand_in();
  /* A mapped file is released only with the process, whose end then completes the answer. */
  if ((state.touched & TOUCHED_FILES) == 0) say_done(exit_code, 0);
  state.role = ROLE_DONE;
}

_Noreturn void worker_handed_over(void) {
  if (let_go_for_good(state.channel) == 0) say_done(0, 0);
  give_up(0);
}

/* What exit() itself does: it does not wait for a stream that another thread has locked. */
static void flush_all(void) {
  if ((state.touched & TOUCHED_THREADS) != 0) {
    fcloseall();
  } else {
    fflush(NULL);
  }
}

void worker_finish(int exit_code, void *unused) {
  (void)unused;
  if (trial_is_on()) trial_end("ends");
  if (state.role != ROLE_ANSWERING) return;
  /* Flushing a stream of the program's own kind runs its code. A clean request has no child or
   * thread that could be here, nor one whose calls are handed back. */
  int is_flushed = state.reset == RESET_REWIND && (state.is_clean || state.hands_back);
  if (is_flushed) flush_all();
  if (state.reset == RESET_REWIND) clean_end();
  enum leaver leaver = thread_that_leaves();
  if (leaver == LEAVER_CHILD) return;
  if (!is_flushed) flush_all();
  if (state.reset == RESET_REWIND) {
    rewind_end(exit_code, leaver);
  } else if (let_go_for_good(state.channel) == 0) {
    say_done(exit_code, 0);
  }
}
