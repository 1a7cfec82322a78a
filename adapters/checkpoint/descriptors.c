/* Descriptors: ours stay out of the program's way, and each worker has the program's own to
 * itself. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "checkpoint.h"
#include "raw_call.h"

enum { kHighFd = 500 };

/* A rewinding worker has six and one for each file that is open at the checkpoint. */
int descriptor_least_own(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kHighFd + 64) return kHighFd;
  return limit.rlim_cur > 32 ? (int)limit.rlim_cur / 2 : 16;
}

int descriptor_move_high(int fd) {
  int high = fcntl(fd, F_DUPFD_CLOEXEC, descriptor_least_own());
  if (high >= 0) close(fd);
  return high;
}

int descriptor_move_aside(int fd) {
  long aside = raw_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, state.channel);
  raw_call(SYS_close, fd);
  return (int)aside;
}

struct directory_entry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

/* Without opendir(), which would change the program's heap. */
int descriptors_visit(int folder, int (*visit)(int fd, void *context), void *context) {
  _Alignas(struct directory_entry) char buffer[2048];
  int answer = 0;
  long count = raw_call(SYS_lseek, folder, 0, SEEK_SET);
  if (count < 0) return -1;
  while (answer == 0 && (count = raw_call(SYS_getdents64, folder, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < count && answer == 0;) {
      struct directory_entry *entry = (struct directory_entry *)(buffer + at);
      at += entry->length;
      if (entry->name[0] == '.') continue;
      int fd = atoi(entry->name);
      if (fd != folder) answer = visit(fd, context);
    }
  }
  return count < 0 ? -1 : answer;
}

static int for_each_fd(int (*visit)(int fd, void *context), void *context) {
  int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return 0;
  int answer = descriptors_visit(directory, visit, context);
  close(directory);
  return answer;
}

void descriptors_add(unsigned char *numbers, int fd) {
  if (fd >= 0 && fd < kInheritedFdsMax) numbers[fd / 8] |= (unsigned char)(1u << (fd % 8));
}

int descriptors_have(const unsigned char *numbers, int fd) {
  return fd < kInheritedFdsMax && (numbers[fd / 8] >> (fd % 8) & 1) != 0;
}

static int remember(int fd, void *numbers) {
  descriptors_add(numbers, fd);
  return 0;
}

void descriptors_list(unsigned char *numbers) {
  memset(numbers, 0, kInheritedFdsMax / 8);
  for_each_fd(remember, numbers);
}

void descriptors_remember_start(void) {
  for (int fd = 0; fd < 3; ++fd) fstat(fd, &state.standard[fd]);
  for_each_fd(remember, state.inherited);
}

static int is_inherited(int fd) {
  return descriptors_have(state.inherited, fd);
}

/* What the kernel reports about it; empty if that is more than fits. */
static void read_info(int fd, char *text, size_t bytes) {
  char path[48];
  size_t length = 0;
  ssize_t got = -1;
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
  int info = open(path, O_RDONLY | O_CLOEXEC);
  while (info >= 0 && (got = read(info, text + length, bytes - length)) > 0) length += (size_t)got;
  if (info >= 0) close(info);
  text[got == 0 && length < bytes ? length : 0] = '\0';
}

/* Nobody can open it a second time, but a new one with the same count is equivalent. One that
 * counts down by ones (a semaphore) is not accepted as such. */
static int is_event(const char *text, struct open_file *file) {
  const char *count = strstr(text, "eventfd-count:");
  if (count == NULL || strstr(text, "eventfd-semaphore: 1") != NULL) return 0;
  unsigned long value = strtoul(count + strlen("eventfd-count:"), NULL, 16);
  file->kind = FILE_EVENT;
  file->event_count = (unsigned)value;
  return value <= UINT_MAX;
}

static int is_named(int fd, const char *name) {
  char path[64];
  return path_of_open_file(fd, path, sizeof path) >= 0 && strncmp(path, name, strlen(name)) == 0;
}

/* A timer that is not set and has not expired. */
static int is_idle_timer(const char *text, struct open_file *file) {
  const char *clock = strstr(text, "clockid:");
  file->kind = FILE_TIMER;
  file->clock = clock == NULL ? 0 : atoi(clock + strlen("clockid:"));
  return clock != NULL && strstr(text, "ticks: 0\n") != NULL &&
         strstr(text, "it_value: (0, 0)\n") != NULL &&
         strstr(text, "it_interval: (0, 0)\n") != NULL;
}

/* For what has no name in the file system: NULL, or why no worker can have its own. */
static const char *look_at_nameless(int fd, const struct stat *status, struct open_file *file) {
  char text[4096];
  if (S_ISFIFO(status->st_mode) && is_named(fd, "pipe:[")) return pipe_take(fd, status, file);
  if (S_ISSOCK(status->st_mode)) return socket_take(fd, file);
  read_info(fd, text, sizeof text);
  if (is_event(text, file)) return NULL;
  if (is_named(fd, "anon_inode:[timerfd]")) {
    return is_idle_timer(text, file) ? NULL : "a timer that runs";
  }
  if (!is_named(fd, "anon_inode:[eventpoll]")) return "not a file";
  file->kind = FILE_POLL;
  return text[0] != '\0' && poll_take(fd, text) == 0 ? NULL : "an epoll instance that watches much";
}

/* ---- made anew ---- */

int descriptor_is_made_anew(const struct open_file *file) {
  return file->kind != FILE_NAMED || file->same_as != 0;
}

int descriptor_turn(const struct open_file *file) {
  return (file->kind == FILE_POLL ? 2 : 0) + (file->same_as != 0);
}

int descriptor_place(long fd, const struct open_file *file) {
  if (fd < 0) return -1;
  int flag = file->close_on_exec ? FD_CLOEXEC : 0;
  if (fd == file->fd) return (int)raw_call(SYS_fcntl, fd, F_SETFD, flag);
  long result = raw_call(SYS_dup3, fd, file->fd, flag != 0 ? O_CLOEXEC : 0);
  raw_call(SYS_close, fd);
  return result < 0 ? -1 : 0;
}

/* Opens another one like it: a number, or < 0. */
static long make(const struct open_file *file) {
  int flags = (file->flags & O_NONBLOCK) | O_CLOEXEC;
  if (file->kind == FILE_POLL) return poll_make(file);
  if (file->kind == FILE_ENDED_SOCKET) return socket_make(file);
  if (file->kind == FILE_TIMER) return raw_call(SYS_timerfd_create, file->clock, flags);
  return raw_call(SYS_eventfd2, file->event_count, flags);
}

int descriptor_make_anew(const struct open_file *file) {
  if (file->same_as != 0) {
    int flags = file->close_on_exec ? O_CLOEXEC : 0;
    return raw_call(SYS_dup3, file->same_as, file->fd, flags) < 0 ? -1 : 0;
  }
  if (file->kind != FILE_PIPE) return descriptor_place(make(file), file);
  return (file->flags & O_ACCMODE) == O_RDONLY ? pipe_make(file) : 0; /* with its other end */
}

/* ---- the look ---- */

struct watch {
  char *reason;
  size_t reason_bytes;
  const unsigned char *known; /* numbers that are skipped */
};

/* Whether two numbers are one description, as dup() makes them; -1: the kernel does not say. */
static int is_same_description(int a, int b) {
  struct stat of_a, of_b;
  if (fstat(a, &of_a) != 0 || fstat(b, &of_b) != 0 || of_a.st_dev != of_b.st_dev ||
      of_a.st_ino != of_b.st_ino) {
    return 0;
  }
  long order = raw_call(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b);
  return order < 0 ? -1 : order == 0;
}

/* Those whose descriptions hold no state: null, zero, full, random, urandom. Another device (a
 * terminal) has a state of its own. */
static int is_plain_device(const struct stat *status) {
  unsigned minor_number = minor(status->st_rdev);
  return S_ISCHR(status->st_mode) && major(status->st_rdev) == 1 &&
         (minor_number == 3 || minor_number == 5 || (minor_number >= 7 && minor_number <= 9));
}

/* Why a descriptor must not be open at the checkpoint, or NULL, with its properties in file. */
static const char *look_at(int fd, const struct stat *status, struct open_file *file) {
  for (int stream = 0; stream < 3; ++stream) {
    int is_copy = is_same_description(fd, stream) != 0 || load_watch_is_output(status);
    if (is_copy) return "a copy of a standard stream";
  }
  for (size_t i = 0; i < state.file_count && file->same_as == 0; ++i) {
    const struct open_file *other = &state.files[i];
    int is_same = other->same_as == 0 ? is_same_description(fd, other->fd) : 0;
    if (is_same < 0) return "perhaps a copy of another";
    if (!is_same) continue;
    file->same_as = other->fd;
    file->kind = other->kind;
  }
  if (file->same_as != 0) return NULL;
  if (is_plain_device(status)) return NULL;
  if (S_ISCHR(status->st_mode)) return "a device";
  if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode)) {
    return look_at_nameless(fd, status, file);
  }
  if ((file->flags & O_ACCMODE) != O_RDONLY) return "a file for writing";
  file->offset = lseek(fd, 0, SEEK_CUR);
  return NULL;
}

static int open_again(const struct open_file *file) {
  if (file->kind != FILE_NAMED) return (int)make(file);
  char path[kFilePathBytes];
  path_to_open_file(file->fd, path);
  return open(path, (file->flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW)) | O_CLOEXEC);
}

static int can_be_opened_again(const struct open_file *file) {
  if (file->kind == FILE_PIPE) return 1; /* if its other end is found */
  int again = open_again(file);
  if (again >= 0) close(again);
  return again >= 0;
}

static int refuse(const struct watch *watch, int fd, const char *what) {
  snprintf(watch->reason, watch->reason_bytes, "descriptor %d (%s) is open at the checkpoint", fd,
           what);
  return -1;
}

static int watch_fd(int fd, void *context) {
  struct watch *watch = context;
  struct stat status;
  if (fd < 3 || descriptors_have(watch->known, fd) || fstat(fd, &status) != 0) return 0;
  struct open_file file = {
      .fd = fd, .flags = fcntl(fd, F_GETFL), .close_on_exec = fcntl(fd, F_GETFD) & FD_CLOEXEC};
  const char *held = look_at(fd, &status, &file);
  if (held == NULL && state.file_count == kOpenFilesMax) held = "one of too many";
  if (held == NULL && file.same_as == 0 && !can_be_opened_again(&file)) {
    held = "which cannot be opened again";
  }
  if (held != NULL) return refuse(watch, fd, held);
  state.files[state.file_count++] = file;
  return 0;
}

int descriptors_watch(char *reason, size_t reason_bytes) {
  for (int fd = 0; fd < 3; ++fd) {
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_dev == state.standard[fd].st_dev &&
        status.st_ino == state.standard[fd].st_ino) {
      continue;
    }
    snprintf(reason, reason_bytes, "descriptor %d was opened again before the checkpoint", fd);
    return -1;
  }
  return descriptors_look_at_new(state.inherited, reason, reason_bytes);
}

int descriptors_look_at_new(const unsigned char *known, char *reason, size_t reason_bytes) {
  state.file_count = state.watch_count = 0;
  snprintf(reason, reason_bytes, "its descriptors cannot be listed");
  struct watch watch = {reason, reason_bytes, known};
  if (for_each_fd(watch_fd, &watch) != 0) return -1;
  int alone = pipes_pair();
  if (alone >= 0) return refuse(&watch, alone, "a pipe whose ends are not both its own");
  const char *held = polls_held();
  if (held == NULL) return 0;
  snprintf(reason, reason_bytes, "%s at the checkpoint", held);
  return -1;
}

static int close_at_exec(int fd, void *unused) {
  (void)unused;
  if (fd > 2 && !is_inherited(fd)) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return 0;
}

void descriptors_close_at_exec(void) {
  for_each_fd(close_at_exec, NULL);
}

static int reopen(const struct open_file *file) {
  if (descriptor_is_made_anew(file)) return descriptor_make_anew(file);
  int fd = open_again(file);
  if (fd < 0) return -1;
  if (file->offset > 0 && lseek(fd, file->offset, SEEK_SET) < 0) return -1;
  return descriptor_place(fd, file);
}

void descriptors_remember_checkpoint(void) {
  for_each_fd(remember, state.inherited);
}

static int stand_in(int fd, void *null) {
  struct stat status;
  if (fd == *(int *)null || fd == state.channel || (fd > 2 && is_inherited(fd))) return 0;
  if (fstat(fd, &status) != 0) return 0;
  int is_nameless = (status.st_mode & S_IFMT) == 0; /* epoll, eventfd: nobody else has them */
  if (!is_nameless) dup3(*(int *)null, fd, O_CLOEXEC);
  return 0;
}

void descriptors_stand_in(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for_each_fd(stand_in, &null);
  close(null);
}

void descriptors_give_streams_back(void) {
  long null = raw_call(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
  if (null < 0) return;
  for (int fd = 0; fd <= 2; ++fd) raw_call(SYS_dup3, null, fd, 0);
  raw_call(SYS_close, null);
}

int descriptors_make_private(void) {
  for (int turn = 0; turn < kDescriptorTurns; ++turn) {
    for (size_t i = 0; i < state.file_count; ++i) {
      if (descriptor_turn(&state.files[i]) == turn && reopen(&state.files[i]) != 0) return -1;
    }
  }
  return 0;
}

static int were_unblocked[3];

void streams_remember(void) {
  for (int fd = 0; fd < 3; ++fd) were_unblocked[fd] = (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

int streams_set(const char *how) {
  if (strcmp(how, "unblock/1") == 0 || strcmp(how, "unblock/2") == 0) {
    int fd = how[strlen(how) - 1] - '0';
    if (!were_unblocked[fd]) return 0;
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  if (strcmp(how, "close-at-exec") != 0) return -1;
  for (int fd = 0; fd < 3; ++fd) raw_call(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
  return 0;
}

void streams_tell(char letters[3]) {
  for (int fd = 0; fd < 3; ++fd) {
    struct stat status;
    letters[fd] = 'o';
    if (fstat(fd, &status) != 0) continue;
    if (S_ISFIFO(status.st_mode)) letters[fd] = 'p';
    if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3)) letters[fd] = 'n';
  }
}
