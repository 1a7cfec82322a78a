/* See hand_over.h. */
#include "rewind/hand_over.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls/clean.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/execution.h"
#include "rewind/inherited.h"
#include "rewind/kept_at_exec.h"
#include "rewind/passed_files.h"
#include "rewind/threads.h"

enum { kStreams = MESSAGE_REQUEST_FDS, kMaskBytes = 8 };

/* What a request may have done that a process keeps when it executes a file, and that is not
 * compared below. */
enum { kKeptUnseen = TOUCHED_FILES | TOUCHED_SEMAPHORES | TOUCHED_LINGERS };

/* What this library has open, in either kind of worker. */
struct self {
  int channel, first_own_fd, last_own_fd;
  int fds_fd;      /* /proc/self/fd */
  dev_t processes; /* the file system of /proc */
  uint64_t request_id;
};

static int self_of_engine(const struct engine *engine, struct self *self) {
  *self = (struct self){engine->channel, engine->first_own_fd,   engine->last_own_fd,
                        engine->fds_fd,  engine->own_devices[0], engine->request_id};
  return descriptors_are_ours(engine) ? 0 : -1;
}

/* A worker that ends after its request has only the channel. */
static int self_of_fork(struct self *self) {
  struct stat status;
  if (raw_call(SYS_fstat, state.channel, &status) != 0 || status.st_dev != state.channel_dev ||
      status.st_ino != state.channel_ino) {
    return -1;
  }
  long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  int fds_fd = descriptor_move_aside((int)fd);
  if (fds_fd < 0) return -1;
  *self = (struct self){state.channel, state.channel, state.channel, fds_fd, 0, state.request.id};
  if (raw_call(SYS_fstat, fds_fd, &status) == 0) self->processes = status.st_dev;
  return 0;
}

static int look_at_self(struct self *self) {
  return state.reset == RESET_REWIND ? self_of_engine(state.engine, self) : self_of_fork(self);
}

static void forget_self(const struct self *self) {
  if (state.reset != RESET_REWIND) raw_call(SYS_close, self->fds_fd);
}

/* ---- whether it can be handed over ---- */

static int is_plain_executable(const char *path, struct stat *status) {
  return path[0] != '\0' && raw_call(SYS_newfstatat, AT_FDCWD, path, status, 0) == 0 &&
         S_ISREG(status->st_mode) && (status->st_mode & (S_ISUID | S_ISGID)) == 0 &&
         raw_call(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

static int is_closed_at_exec(int fd) {
  long flags = raw_call(SYS_fcntl, fd, F_GETFD);
  return flags < 0 || (flags & FD_CLOEXEC) != 0;
}

static int is_own(const struct self *self, int fd) {
  return (fd >= self->first_own_fd && fd <= self->last_own_fd) || fd == self->fds_fd ||
         fd == inherited_peer();
}

struct listing {
  const struct self *self;
  struct inherited_numbers *numbers;
};

static int add_inherited(int fd, void *context) {
  const struct listing *listing = context;
  struct inherited_numbers *numbers = listing->numbers;
  if (fd < kStreams || is_own(listing->self, fd) || is_closed_at_exec(fd)) return 0;
  if (numbers->count == kInheritedMost || fd >= listing->self->first_own_fd) return -1;
  numbers->fds[numbers->count++] = fd;
  return 0;
}

/* What the program gets beside 0, 1 and 2: 0, or -1 if these are not all there, or too many. */
static int list_inherited(const struct self *self, struct inherited_numbers *numbers) {
  struct listing listing = {self, numbers};
  numbers->count = 0;
  for (int fd = 0; fd < kStreams; ++fd) {
    if (is_closed_at_exec(fd)) return -1;
  }
  return descriptors_visit(self->fds_fd, add_inherited, &listing);
}

/* ---- the environment ---- */

enum { kFilterBits = 4096 };

static size_t name_bytes(const char *entry) {
  return strcspn(entry, "=");
}

/* Of two entries with one name, and of one without, each program and language makes something else.
 * The filter says which names may have come before. */
static int is_ordinary_entry(char *const *envp, size_t index, uint64_t *filter) {
  const char *entry = envp[index];
  size_t bytes = may_be_memory(entry) ? name_bytes(entry) : 0;
  if (bytes == 0 || entry[bytes] != '=') return 0;
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum = sum * 31 + (unsigned char)entry[i];
  uint64_t *word = &filter[sum % kFilterBits / 64], bit = 1ull << sum % 64;
  for (size_t i = 0; i < index && (*word & bit) != 0; ++i) {
    if (strncmp(envp[i], entry, bytes + 1) == 0) return 0;
  }
  *word |= bit;
  return 1;
}

static int is_ordinary_environment(char *const *envp) {
  uint64_t filter[kFilterBits / 64];
  memset(filter, 0, sizeof filter);
  for (size_t i = 0; envp != NULL && envp[i] != NULL; ++i) {
    if (!is_ordinary_entry(envp, i, filter)) return 0;
  }
  return 1;
}

/* In a worker that is put back, each thread was noted. */
static int is_alone(void) {
  return threads_have_ended() && (state.reset == RESET_REWIND || threads_of_process() == 1);
}

static int can_be_handed_over(uint64_t mask, char was_clean, uint32_t *ignored) {
  return (state.touched & kKeptUnseen) == 0 && state.doubt == RETIRED_NOT && is_alone() &&
         timers_are_noted() && kept_is_as_at_start(mask, !was_clean, ignored);
}

/* ---- the bridge is asked ---- */

/* The next message, of that type: its descriptor, or -1. Ends the process if the bridge is gone, or
 * says anything else. */
static int await(const struct self *self, enum message_type type) {
  struct message_header header;
  struct iovec part = {&header, sizeof header};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  struct msghdr packet = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  long got;
  do {
    got = raw_call(SYS_recvmsg, self->channel, &packet, MSG_CMSG_CLOEXEC);
  } while (got == -EINTR);
  if (got != (long)sizeof header || header.type != type || header.version != MESSAGE_VERSION)
    give_up(0);
  int fd = -1;
  const struct cmsghdr *with = CMSG_FIRSTHDR(&packet);
  if (with != NULL && with->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(with), sizeof fd);
  return fd;
}

/* ---- the other worker takes it ---- */

/* The program does nothing more: none of its handlers runs. */
static void hear_signals_by_default(void) {
  const struct signal_action by_default = {.handler = SIG_DFL};
  const uint64_t none = 0;
  for (int signal = 1; signal < kSignalsMax; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    raw_call(SYS_rt_sigaction, signal, &by_default, NULL, kMaskBytes);
  }
  __atomic_store_n(&state.touched_signals, ~0ull, __ATOMIC_SEQ_CST);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, kMaskBytes);
}

/* The request is over. */
static _Noreturn void end(char was_clean) {
  if (state.reset != RESET_REWIND) worker_handed_over();
  state.is_clean = was_clean;
  clean_end();
  rewind_end(0, thread_that_leaves());
}

/* The files that were passed on are held meanwhile. */
static _Noreturn void wait_for_its_end(const struct self *self, int peer,
                                       const struct inherited_numbers *numbers, char was_clean) {
  struct pollfd watched[] = {{self->channel, POLLIN, 0}, {peer, POLLIN, 0}};
  raw_call(SYS_close_range, 0, kStreams - 1, 0);
  inherited_keep(numbers);
  go_threads_expect_no_more();
  timers_put_back(was_clean);
  hear_signals_by_default();
  while (watched[0].revents == 0) {
    raw_call(SYS_ppoll, watched, 2, NULL, NULL, kMaskBytes);
    if (watched[1].revents != 0 && inherited_serve(peer) != 0) watched[1].fd = -1;
  }
  await(self, MESSAGE_EXECUTED);
  end(was_clean);
}

/* Descriptors that stay open. */
struct kept_numbers {
  struct {
    int from, to;
  } ranges[kInheritedMost + 4];
  size_t count;
};

static void keep(struct kept_numbers *kept, int from, int to) {
  kept->ranges[kept->count].from = from;
  kept->ranges[kept->count++].to = to;
}

/* The index of the first range that does not end below from, or the count. */
static size_t next_kept(const struct kept_numbers *kept, int from) {
  size_t next = kept->count;
  for (size_t i = 0; i < kept->count; ++i) {
    if (kept->ranges[i].to < from) continue;
    if (next == kept->count || kept->ranges[i].from < kept->ranges[next].from) next = i;
  }
  return next;
}

/* All but 0, 1 and 2, those that are passed on, peer, and our own. */
static void close_others(const struct self *self, int peer,
                         const struct inherited_numbers *numbers) {
  struct kept_numbers kept = {.count = 0};
  keep(&kept, self->first_own_fd, self->last_own_fd);
  keep(&kept, self->fds_fd, self->fds_fd);
  keep(&kept, peer, peer);
  if (inherited_peer() >= 0) keep(&kept, inherited_peer(), inherited_peer());
  for (size_t i = 0; i < numbers->count; ++i) keep(&kept, numbers->fds[i], numbers->fds[i]);
  int from = kStreams;
  for (size_t next; (next = next_kept(&kept, from)) < kept.count; from = kept.ranges[next].to + 1) {
    if (kept.ranges[next].from > from)
      raw_call(SYS_close_range, from, kept.ranges[next].from - 1, 0);
  }
  raw_call(SYS_close_range, from, ~0u, 0);
}

static int let_go_if_closed(int fd, void *self) {
  if (!is_own(self, fd) && is_closed_at_exec(fd)) inherited_let_go(fd);
  return 0;
}

/* Its descriptors are closed before the other program begins, as they would be by now. */
static void try_it(struct self *self, struct execution *execution, char was_clean) {
  struct inherited_numbers numbers;
  int may_hold = !was_clean || (state.touched & TOUCHED_STREAMS) != 0;
  if (!is_plain_executable(execution->path, &execution->file) ||
      !is_ordinary_environment(execution->envp) || list_inherited(self, &numbers) != 0 ||
      ((may_hold || numbers.count > 0) &&
       !files_can_be_passed(self->fds_fd, self->processes, &numbers)) ||
      execution_send(self->channel, self->request_id, execution) < 0) {
    return;
  }
  int peer = await(self, MESSAGE_EXECUTED_BY);
  if (peer < 0) return;
  if (inherited_peer() >= 0) descriptors_visit(self->fds_fd, let_go_if_closed, self);
  close_others(self, peer, &numbers);
  if (inherited_send(peer, &numbers) == 0) wait_for_its_end(self, peer, &numbers, was_clean);
  raw_call(SYS_close, peer);
}

/* A worker that was started ahead instead of being forked may hold what nobody has looked at. */
static int is_put_back_or_ends(void) {
  if (state.reset == RESET_REWIND) return state.engine->left_out == 0;
  return state.reset == RESET_FORK && !state.is_ahead && !state.goes_by && !program_has_traps() &&
         state.bypass[0] == '\0';
}

int hand_over_is_possible(void) {
  return state.role == ROLE_ANSWERING && is_put_back_or_ends() &&
         libc_call(SYS_getpid) == state.pid && libc_call(SYS_gettid) == state.pid;
}

static int may_be_handed_over(const char *path, char *const argv[], char *const envp[]) {
  return hand_over_is_possible() && may_be_memory(path) && may_be_memory(argv) &&
         (envp == NULL || may_be_memory(envp)) && ++state.executes <= MESSAGE_EXECUTES_MAX;
}

void hand_over_blocked(const char *path, char *const argv[], char *const envp[], uint64_t mask) {
  struct execution execution = {.path = path, .argv = argv, .envp = envp};
  struct self self;
  if (!may_be_handed_over(path, argv, envp)) return;
  /* From here on the kernel hands no call back. */
  char was_clean = state.is_clean, handed_back = state.hands_back;
  state.is_clean = 0;
  state.hands_back = 0;
  if (can_be_handed_over(mask, was_clean, &execution.ignored) && look_at_self(&self) == 0) {
    try_it(&self, &execution, was_clean);
    forget_self(&self);
  }
  state.is_clean = was_clean;
  state.hands_back = handed_back;
}

void hand_over(const char *path, char *const argv[], char *const envp[]) {
  const uint64_t all = ~0ull;
  uint64_t mask = 0;
  if (!hand_over_is_possible()) return;
  libc_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, kMaskBytes);
  hand_over_blocked(path, argv, envp, mask);
  libc_call(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, kMaskBytes);
}
