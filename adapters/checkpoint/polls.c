/* epoll instances at the checkpoint. Ruby (3.3) has one, with which its timer waits; it watches
 * only an eventfd. Node has several. A new one that watches the same descriptors in the same way is
 * equivalent, unless the first has already reported an event that it reports only once. */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "checkpoint.h"
#include "raw_call.h"

/* Bits of events that say how they are reported: by edge, once, to one of many. */
static const uint32_t kNotByLevel = 0xf0000000u;

/* "tfd: 3 events: 19 data: 7f00 ..." */
static int read_watch(const char *line, struct poll_watch *watch) {
  unsigned events;
  unsigned long long data;
  if (sscanf(line, "tfd: %d events: %x data: %llx", &watch->fd, &events, &data) != 3) return -1;
  watch->events = events;
  watch->data = data;
  return 0;
}

int poll_take(int fd, const char *info) {
  for (const char *at = info; (at = strstr(at, "\ntfd:")) != NULL;) {
    if (state.watch_count == kPollWatchesMax) return -1;
    struct poll_watch watch = {.poll = fd};
    if (read_watch(++at, &watch) != 0) return -1;
    state.watches[state.watch_count++] = watch;
  }
  return 0;
}

/* Whether this number still refers to what is watched under it, and each worker has its own. */
static int can_be_watched_again(const struct poll_watch *watch) {
  struct kcmp_epoll_slot slot = {.efd = (unsigned)watch->poll, .tfd = (unsigned)watch->fd};
  for (size_t i = 0; i < state.file_count; ++i) {
    if (state.files[i].fd != watch->fd || state.files[i].kind == FILE_POLL) continue;
    return raw_call(SYS_kcmp, getpid(), getpid(), KCMP_EPOLL_TFD, watch->fd, &slot) == 0;
  }
  return 0;
}

/* Whether there is nothing to report: then it does not matter how it would be. One that has
 * reported its event, and reports one only, watches for none until it is set again. */
static int is_quiet(const struct poll_watch *watch) {
  uint32_t wanted = watch->events & ~kNotByLevel;
  if (wanted == watch->events || wanted == 0) return 1;
  struct pollfd look = {.fd = watch->fd, .events = (short)wanted};
  return poll(&look, 1, 0) == 0;
}

const char *polls_held(void) {
  for (size_t i = 0; i < state.watch_count; ++i) {
    const struct poll_watch *watch = &state.watches[i];
    if (!can_be_watched_again(watch)) {
      return "an epoll instance looks at what no worker can have of its own";
    }
    if (!is_quiet(watch)) return "an epoll instance may have reported an event";
  }
  return NULL;
}

int poll_make(const struct open_file *file) {
  int fd = (int)raw_call(SYS_epoll_create1, EPOLL_CLOEXEC);
  for (size_t i = 0; i < state.watch_count && fd >= 0; ++i) {
    const struct poll_watch *watch = &state.watches[i];
    struct epoll_event event = {.events = watch->events, .data.u64 = watch->data};
    if (watch->poll != file->fd ||
        raw_call(SYS_epoll_ctl, fd, EPOLL_CTL_ADD, watch->fd, &event) == 0) {
      continue;
    }
    raw_call(SYS_close, fd);
    fd = -1;
  }
  return fd;
}
