/* Whether the threads at the checkpoint rest, and in which calls they wait; see threads.h. */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/other_threads.h"
#include "rewind/parked_threads.h"
#include "rewind/threads.h"

struct parked_threads parked_threads;

struct parked_thread *parked_thread_of(pid_t id) {
  for (size_t i = 0; i < parked_threads.count; ++i) {
    if (parked_threads.list[i].id == id) return &parked_threads.list[i];
  }
  return NULL;
}

enum {
  kLooksMost = 100,
  kLooksAtInterpreters = 2500, /* which may be compiling what the program began with */
  kQuietLooks = 3,
  kLookNanoseconds = 2000000
};

int threads_refuse(char *reason, size_t reason_bytes, const char *why) {
  snprintf(reason, reason_bytes, "%s", why);
  return -1;
}

long thread_read_file(pid_t thread, const char *name, char *text, size_t text_bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)thread, name);
  long file = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  long got = raw_call(SYS_read, file, text, text_bytes - 1);
  raw_call(SYS_close, file);
  if (got >= 0) text[got] = '\0';
  return got;
}

/* "202 0x.. (six arguments) 0x<stack> 0x<place>"; "running" or "-1 ..." outside of a call. */
int thread_read_wait(struct parked_thread *thread, pid_t id) {
  char text[256];
  if (thread_read_file(id, "syscall", text, sizeof text) <= 0) return -1;
  if (text[0] < '0' || text[0] > '9') return -1;
  char *at = text;
  thread->wait.number = strtol(at, &at, 10);
  for (int i = 0; i < 6; ++i) thread->wait.arguments[i] = strtoul(at, &at, 16);
  thread->wait.stack = strtoul(at, &at, 16);
  thread->wait.place = strtoul(at, &at, 16);
  return thread->wait.place != 0 ? 0 : -1;
}

/* Waits that end only by what another thread or process does, and that can be begun once more with
 * the same arguments as if nothing had happened. A time limit would have passed when a request
 * comes: only an adapter knows whether that matters. */
static int can_wait_again(const struct parked_thread *thread) {
  const unsigned long *arguments = thread->wait.arguments;
  switch (thread->wait.number) {
    case SYS_futex: {
      int operation = (int)arguments[1] & FUTEX_CMD_MASK;
      return (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) &&
             (arguments[3] == 0 ||
              (operation == FUTEX_WAIT_BITSET && parked_threads.are_interpreters));
    }
    case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
      return (int)arguments[3] == -1;
#ifdef SYS_poll
    case SYS_poll:
      return (int)arguments[2] == -1;
#endif
    case SYS_ppoll:
    case SYS_rt_sigtimedwait:
      return arguments[2] == 0;
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
      return arguments[4] == 0;
    case SYS_read:
      return arguments[0] > 2; /* descriptors.c decides what may be open at a checkpoint */
#ifdef SYS_pause
    case SYS_pause:
#endif
    case SYS_rt_sigsuspend:
      return 1;
    default:
      return 0;
  }
}

static int tell_who_moves(struct parked_thread *thread, char *reason, size_t reason_bytes) {
  char name[kThreadNameBytes + 1] = "";
  long length = thread_read_file(thread->id, "comm", name, sizeof name);
  if (length > 0) name[length - 1] = '\0';
  if (thread_read_wait(thread, thread->id) != 0) {
    snprintf(reason, reason_bytes, "its thread \"%s\" does not rest", name);
  } else {
    snprintf(reason, reason_bytes,
             "its thread \"%s\" waits in system call %ld, for a limited time or for something that "
             "cannot be made again",
             name, thread->wait.number);
  }
  return -1;
}

static void list_one(pid_t id, void *unused) {
  (void)unused;
  if (parked_threads.count == kParkedMax) return;
  struct parked_thread *thread = &parked_threads.list[parked_threads.count++];
  memset(thread, 0, sizeof *thread);
  thread->id = id;
}

/* Lists the other threads with what they wait in: 0 if all of them rest, or -1 with the reason. */
static int look(char *reason, size_t reason_bytes) {
  parked_threads.count = 0;
  long count = threads_visit(list_one, NULL);
  if (count < 0) return threads_refuse(reason, reason_bytes, "its threads cannot be listed");
  if (count > kParkedMax) {
    snprintf(reason, reason_bytes, "%ld threads at its checkpoint are too many (at most %d)", count,
             kParkedMax);
    return -1;
  }
  for (size_t i = 0; i < parked_threads.count; ++i) {
    struct parked_thread *thread = &parked_threads.list[i];
    if (thread_read_wait(thread, thread->id) != 0 || !can_wait_again(thread)) {
      return tell_who_moves(thread, reason, reason_bytes);
    }
  }
  return 0;
}

int threads_await_rest(char *reason, size_t reason_bytes) {
  int quiet = 0, result = 0;
  parked_threads.count = 0;
  if (threads_of_process() == 1) return 0;
  int most = parked_threads.are_interpreters ? kLooksAtInterpreters : kLooksMost;
  for (int looks = 0; looks < most && quiet < kQuietLooks; ++looks) {
    if (looks > 0) thread_pause(kLookNanoseconds);
    result = look(reason, reason_bytes);
    if (result == 0 && parked_threads.count == 0) return 0;
    quiet = result == 0 ? quiet + 1 : 0;
  }
  if (result == 0 && quiet < kQuietLooks)
    threads_refuse(reason, reason_bytes, "its threads do not rest");
  return quiet == kQuietLooks ? 0 : -1;
}

int threads_rest(char *reason, size_t reason_bytes) {
  int result = threads_await_rest(reason, reason_bytes);
  parked_threads.count = 0;
  return result;
}
