/* See threads_missing.h. */
#include "rewind/threads_missing.h"

#include <linux/futex.h>
#include <string.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/parked_threads.h"
#include "rewind/threads.h"

void threads_needed(void) {
  if (parked_threads.are_missing) threads_make_again();
}

#if defined(__x86_64__)

#include <ucontext.h>

/* What ends the wait of a thread in epoll_wait(): the instances, and both ends of what they watch.
 */
static int awaited[2 * kOpenFilesMax];
static size_t awaited_count;
static unsigned char has_stream[kInheritedFdsMax / 8];

void threads_note_stream(long fd) {
  if (state.role == ROLE_ZYGOTE) descriptors_add(has_stream, (int)fd);
}

/* ---- in the zygote ---- */

/* libc's condition variables, semaphores and read-write locks wait like this; its mutexes, barriers
 * and joins do not, nor do std::atomic, Rust's locks and OpenMP. */
static int waits_in_libc(const struct parked_thread *thread) {
  enum { kWait = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME };
  const struct address_range *code = &state.engine->clean.code;
  return thread->wait.number == SYS_futex && (int)thread->wait.arguments[1] == kWait &&
         thread->wait.place - code->start < code->end - code->start;
}

static int is_copied(const struct open_file *file) {
  for (size_t i = 0; i < state.file_count; ++i) {
    if (state.files[i].same_as == file->fd) return 1;
  }
  return file->same_as != 0;
}

static int await(const struct open_file *file) {
  if (awaited_count == sizeof awaited / sizeof *awaited || is_copied(file)) return -1;
  if (descriptors_have(has_stream, file->fd)) return -1;
  awaited[awaited_count++] = file->fd;
  return 0;
}

static const struct open_file *file_of(long fd) {
  for (size_t i = 0; i < state.file_count; ++i) {
    if (state.files[i].fd == fd) return &state.files[i];
  }
  return NULL;
}

/* A timer, too, would have to be noticed when it is set. */
static int await_watched(int fd) {
  const struct open_file *file = file_of(fd);
  if (file == NULL || await(file) != 0) return -1;
  if (file->kind == FILE_PIPE) return await(&state.files[file->other_end]);
  return file->kind == FILE_EVENT ? 0 : -1;
}

static int await_all_of(long poll) {
  const struct open_file *file = file_of(poll);
  if (file == NULL || await(file) != 0) return -1;
  for (size_t i = 0; i < state.watch_count; ++i) {
    if (state.watches[i].poll == poll && await_watched(state.watches[i].fd) != 0) return -1;
  }
  return 0;
}

static int waits_in_poll(const struct parked_thread *thread) {
  const unsigned long *arguments = thread->wait.arguments;
  if (thread->wait.number != SYS_epoll_wait && thread->wait.number != SYS_epoll_pwait) return 0;
  int has_mask = thread->wait.number == SYS_epoll_pwait && arguments[4] != 0;
  return !has_mask && await_all_of((int)arguments[0]) == 0;
}

/* What the first thread blocks, the kernel gives to another that does not; libc's own two signals
 * go to one thread. */
static int takes_its_signals(const struct parked_thread *thread) {
  static const uint64_t kOfLibc = 3ull << 31;
  const ucontext_t *frame = (const ucontext_t *)thread->frame;
  uint64_t blocked;
  memcpy(&blocked, &frame->uc_sigmask, sizeof blocked);
  return (state.engine->signal_mask & ~blocked & ~kOfLibc) != 0;
}

void threads_judge(void) {
  awaited_count = 0;
  parked_threads.can_be_missing = 0;
  if (parked_threads.count == 0 || state.engine == NULL || program_is_static() || program_is_go())
    return;
  for (size_t i = 0; i < parked_threads.count; ++i) {
    const struct parked_thread *thread = &parked_threads.list[i];
    if (!waits_in_libc(thread) && !waits_in_poll(thread)) return;
    if (takes_its_signals(thread)) return;
  }
  parked_threads.can_be_missing = 1;
}

/* ---- in a request ---- */

void threads_see_release(const void *object, size_t bytes) {
  if (!parked_threads.are_missing) return;
  for (size_t i = 0; i < parked_threads.count; ++i) {
    const struct parked_thread *thread = &parked_threads.list[i];
    if (thread->wait.number == SYS_futex && thread->wait.arguments[0] - (uintptr_t)object < bytes)
      return threads_needed();
  }
}

void threads_see_descriptor(long fd) {
  if (!parked_threads.are_missing) return;
  for (size_t i = 0; i < awaited_count; ++i) {
    if (awaited[i] == (int)fd) return threads_needed();
  }
}

void threads_see_thread(pthread_t thread) {
  if (parked_threads.are_missing && !pthread_equal(thread, pthread_self())) threads_needed();
}

/* "/proc", "/proc/self", "/proc/123" can be folders from which the rest of the way is gone. */
void threads_see_path(const char *path) {
  if (!parked_threads.are_missing) return;
  const char *name = strrchr(path, '/');
  name = name != NULL ? name + 1 : path;
  int is_in_proc = strncmp(path, "/proc", 5) == 0;
  int shows_all = strcmp(name, "stat") == 0 || strcmp(name, "status") == 0 ||
                  strcmp(name, "sched") == 0 || *name == '\0' || (*name >= '0' && *name <= '9') ||
                  strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0 ||
                  strcmp(name, "proc") == 0;
  if (strstr(path, "task") != NULL || (is_in_proc && shows_all)) threads_needed();
}

/* Only of those that leave a request clean (call_leaves_nothing()): all others make them anyway. */
void threads_see_number(long number, const long *words) {
  if (!parked_threads.are_missing) return;
  switch (number) {
    case SYS_futex: /* some wake as well as wait */
      return threads_needed();
    case SYS_write:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_close:
      return threads_see_descriptor(words[0]);
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
      if (may_be_memory((const char *)words[0])) threads_see_path((const char *)words[0]);
      return;
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_faccessat:
      if (may_be_memory((const char *)words[1])) threads_see_path((const char *)words[1]);
      return;
    default:
      return;
  }
}

#else

/* There are none. */
void threads_judge(void) {}

void threads_note_stream(long fd) {
  (void)fd;
}

void threads_see_release(const void *object, size_t bytes) {
  (void)object;
  (void)bytes;
}

void threads_see_descriptor(long fd) {
  (void)fd;
}

void threads_see_thread(pthread_t thread) {
  (void)thread;
}

void threads_see_path(const char *path) {
  (void)path;
}

void threads_see_number(long number, const long *words) {
  (void)number;
  (void)words;
}

#endif
