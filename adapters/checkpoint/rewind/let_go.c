/* Descriptors at the end of a request: closing them releases its locks, leases and sockets, and the
 * ends that others wait for. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/parked_threads.h"

/* A file that was open at the checkpoint gets a new description: this drops the request's position,
 * flags and locks. */
static int file_put_back(const struct engine *engine, size_t index) {
  const struct open_file *file = &state.files[index];
  if (descriptor_is_made_anew(file)) return descriptor_make_anew(file);
  char path[kFilePathBytes];
  path_to_open_file(engine->pristine_fds[index], path);
  int flags = (file->flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW)) | O_CLOEXEC;
  long fd = raw_call(SYS_openat, AT_FDCWD, path, flags);
  if (fd < 0) return -1;
  if (file->offset > 0) raw_call(SYS_lseek, fd, file->offset, SEEK_SET);
  return descriptor_place(fd, file);
}

/* How many descriptors are open; 0 if the kernel does not say (before Linux 6.2). */
static long descriptors_open(const struct engine *engine) {
  struct stat status;
  return raw_call(SYS_fstat, engine->fds_fd, &status) == 0 ? (long)status.st_size : 0;
}

/* Standard input is at its end, and nobody can write into it; the others can still be written to.
 * What else may have been done to them was noted: TOUCHED_STREAMS. */
int streams_can_stay(const struct engine *engine) {
  const short both = POLLIN | POLLOUT;
  struct pollfd streams[] = {{0, both, 0}, {1, both, 0}, {2, both, 0}};
  struct timespec at_once = {0, 0};
  if (!engine->was_clean || (engine->touched & TOUCHED_STREAMS) != 0) return 0;
  if (raw_call(SYS_ppoll, streams, 3, &at_once, NULL, 8) != 3) return 0;
  return streams[0].revents == POLLHUP && streams[1].revents == POLLOUT &&
         streams[2].revents == POLLOUT;
}

/* Closing what is not open costs more than asking whether anything is. */
static void close_new(struct engine *engine) {
  long kept = engine->keeps_streams ? MESSAGE_REQUEST_FDS : 0;
  if (state.file_count == 0 && engine->open_at_rest != 0 &&
      descriptors_open(engine) == engine->open_at_rest + kept)
    return;
  raw_call(SYS_close_range, kept, engine->first_own_fd - 1, 0);
  raw_call(SYS_close_range, engine->last_own_fd + 1, ~0u, 0);
}

enum retirement descriptors_put_back(struct engine *engine) {
  /* Of the request; the next request's get these numbers. */
  if (!engine->keeps_streams) raw_call(SYS_close_range, 0, 2, 0);
  if ((engine->left_out & PART_DESCRIPTORS) != 0) return RETIRED_NOT;
  close_new(engine);
  /* state is in the program's memory, but what is read from it here was fixed at the checkpoint. */
  for (int turn = 0; turn < kDescriptorTurns; ++turn) {
    for (size_t i = 0; i < state.file_count; ++i) {
      /* Files opened here must not get descriptors 0 to 2. */
      if (descriptor_turn(&state.files[i]) != turn || file_put_back(engine, i) == 0) continue;
      strcpy(engine->reason, "a file that was open at the checkpoint cannot be opened again");
      return RETIRED_DESCRIPTORS;
    }
  }
  return RETIRED_NOT;
}

/* The library's own numbers, -1 where there is none. */
static int own_fd(const struct engine *engine, size_t index) {
  const int fds[kFixedFiles] = {engine->maps_fd, engine->pagemap_fd, engine->stat_fd,
                                engine->fds_fd, engine->size_fd};
  if (index < kFixedFiles) return fds[index];
  const struct open_file *file = &state.files[index - kFixedFiles];
  return descriptor_is_made_anew(file) ? -1 : engine->pristine_fds[index - kFixedFiles];
}

void descriptors_count(struct engine *engine) {
  struct stat status;
  engine->open_at_rest = descriptors_open(engine);
  for (size_t i = 0; i < kFixedFiles + state.file_count; ++i) {
    if (raw_call(SYS_fstat, own_fd(engine, i), &status) != 0) continue;
    engine->own_devices[i] = status.st_dev;
    engine->own_inodes[i] = status.st_ino;
  }
}

int descriptors_are_ours(const struct engine *engine) {
  struct stat status;
  for (size_t i = 0; i < kFixedFiles + state.file_count; ++i) {
    int fd = own_fd(engine, i);
    if (fd < 0) continue;
    if (raw_call(SYS_fstat, fd, &status) != 0 || status.st_dev != engine->own_devices[i] ||
        status.st_ino != engine->own_inodes[i]) {
      return 0;
    }
  }
  /* What has no name, or is below /proc. */
  return raw_call(SYS_fstat, engine->tracking_fd, &status) == 0 &&
         ((status.st_mode & S_IFMT) == 0 || status.st_dev == engine->own_devices[0]);
}

enum retirement descriptors_check(struct engine *engine) {
  if ((engine->left_out & PART_DESCRIPTORS) != 0 || engine->was_clean ||
      descriptors_are_ours(engine))
    return RETIRED_NOT;
  strcpy(engine->reason, "a descriptor of the library's own was closed, or replaced");
  return RETIRED_DESCRIPTORS;
}

/* The number may be above a limit that the request has set. */
static long replace_own(const struct engine *engine, long fd) {
  long result = raw_call(SYS_dup3, fd, engine->stat_fd, O_CLOEXEC);
  if (result != -EBADF) return result;
  raw_call(SYS_prlimit64, 0, RLIMIT_NOFILE, &engine->kernel.limits[RLIMIT_NOFILE], NULL);
  return raw_call(SYS_dup3, fd, engine->stat_fd, O_CLOEXEC);
}

/* A lock of flock() belongs to a description and all its copies: it is still held when ours is
 * gone, if a child made past our functions has one. The program never sees it. */
enum retirement own_files_check(struct engine *engine) {
  long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
  long held = raw_call(SYS_flock, engine->stat_fd, LOCK_EX | LOCK_NB);
  if (fd >= 0 && replace_own(engine, fd) < 0) {
    strcpy(engine->reason, "a limit of descriptors that the program changed cannot be put back");
    return RETIRED_LIMITS;
  }
  if (fd >= 0) raw_call(SYS_close, fd);
  int is_free = fd >= 0 && held == 0 &&
                raw_call(SYS_flock, engine->stat_fd, LOCK_EX | LOCK_NB) == 0 &&
                raw_call(SYS_flock, engine->stat_fd, LOCK_UN) == 0;
  if (is_free) return RETIRED_NOT;
  strcpy(engine->reason, "a process that the request started has descriptors of the library's");
  return RETIRED_CHILDREN;
}

/* A handler would find its files closed, and Ruby's then aborts. */
static void hear_no_signals(void) {
  const uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
}

static int has_other_threads(void) {
  if ((state.touched & TOUCHED_THREADS) == 0 && parked_threads.count == 0) return 0;
  return threads_of_process() != 1;
}

/* Not even those that this library would make for the program before a call of its own that waits:
 * to send DONE, for example. They would find their files closed. */
static void make_no_threads(void) {
  __atomic_store_n(&parked_threads.are_again, 1, __ATOMIC_SEQ_CST);
  parked_threads.are_missing = 0;
}

int let_go_for_good(int channel) {
  if (has_other_threads() || (state.touched & TOUCHED_LINGERS) != 0) return -1;
  hear_no_signals();
  make_no_threads();
  if ((state.touched & TOUCHED_SEMAPHORES) != 0) raw_call(SYS_unshare, CLONE_SYSVSEM);
  raw_call(SYS_close_range, 0, channel - 1, 0);
  raw_call(SYS_close_range, channel + 1, ~0u, 0);
  return (state.touched & TOUCHED_FILES) == 0 ? 0 : -1;
}
