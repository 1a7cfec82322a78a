/* epoll instances at the checkpoint. Ruby (3.3) has one, with which its timer waits; it watches
 * only an eventfd. A new one that watches the same descriptors in the same way is the same, unless
 * reading an event would change the instance. */
#include <fcntl.h>
#include <linux/kcmp.h>
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
  return (events & kNotByLevel) == 0 ? 0 : -1;
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
    if (state.files[i].fd != watch->fd || state.files[i].is_poll) continue;
    return raw_call(SYS_kcmp, getpid(), getpid(), KCMP_EPOLL_TFD, watch->fd, &slot) == 0;
  }
  return 0;
}

int polls_can_be_made_again(void) {
  for (size_t i = 0; i < state.watch_count; ++i) {
    if (!can_be_watched_again(&state.watches[i])) return 0;
  }
  return 1;
}

int poll_make(const struct open_file *file) {
  int flags = file->close_on_exec ? EPOLL_CLOEXEC : 0;
  int fd = (int)raw_call(SYS_epoll_create1, flags);
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
