/* See hand_over.h. */
#include "rewind/hand_over.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls/clean.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/inherited.h"
#include "rewind/kept_at_exec.h"
#include "rewind/passed_files.h"
#include "rewind/threads.h"

enum { kStreams = MESSAGE_REQUEST_FDS, kMaskBytes = 8, kPartsMax = 1000 };

/* What a request may have done that a process keeps when it executes a file, and that is not
 * compared below. */
enum { kKeptUnseen = TOUCHED_FILES | TOUCHED_SEMAPHORES | TOUCHED_LINGERS };

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

static int is_own(const struct engine *engine, int fd) {
  return (fd >= engine->first_own_fd && fd <= engine->last_own_fd) || fd == inherited_peer();
}

static int add_inherited(int fd, void *list) {
  struct inherited_numbers *numbers = list;
  const struct engine *engine = state.engine;
  if (fd < kStreams || is_own(engine, fd) || is_closed_at_exec(fd)) return 0;
  if (numbers->count == kInheritedMost || fd >= engine->first_own_fd) return -1;
  numbers->fds[numbers->count++] = fd;
  return 0;
}

/* What the program gets beside 0, 1 and 2: 0, or -1 if these are not all there, or too many. */
static int list_inherited(const struct engine *engine, struct inherited_numbers *numbers) {
  numbers->count = 0;
  for (int fd = 0; fd < kStreams; ++fd) {
    if (is_closed_at_exec(fd)) return -1;
  }
  return descriptors_visit(engine->fds_fd, add_inherited, numbers);
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

static int can_be_handed_over(const struct engine *engine, uint64_t mask, char was_clean,
                              uint32_t *ignored) {
  return (state.touched & kKeptUnseen) == 0 && state.doubt == RETIRED_NOT && threads_have_ended() &&
         timers_are_noted() && kept_is_as_at_start(mask, !was_clean, ignored) &&
         descriptors_are_ours(engine);
}

/* ---- the bridge is asked ---- */

/* What is sent, string by string. */
struct letter {
  struct message_header header;
  struct message_execute body;
  struct iovec parts[kPartsMax];
  size_t count, bytes;
};

static int add(struct letter *letter, const void *part, size_t bytes) {
  if (letter->count == kPartsMax || bytes > MESSAGE_TO_BRIDGE_MAX - letter->bytes) return -1;
  letter->parts[letter->count++] = (struct iovec){(void *)(uintptr_t)part, bytes};
  letter->bytes += bytes;
  return 0;
}

static int add_strings(struct letter *letter, char *const *strings, uint32_t *count) {
  for (; strings != NULL && *strings != NULL; ++strings, ++*count) {
    if (!may_be_memory(*strings) || add(letter, *strings, strlen(*strings) + 1) != 0) return -1;
  }
  return 0;
}

static long ask(const struct engine *engine, const char *path, const struct stat *file,
                char *const argv[], char *const envp[], uint32_t ignored) {
  struct letter letter;
  char folder[PATH_MAX];
  memset(&letter.body, 0, sizeof letter.body);
  letter.count = letter.bytes = 0;
  long bytes = raw_call(SYS_getcwd, folder, sizeof folder);
  /* One that cannot be reached has a path that begins otherwise. */
  if (bytes <= 0 || folder[0] != '/' || argv[0] == NULL) return -1;
  if (add(&letter, &letter.header, sizeof letter.header) != 0 ||
      add(&letter, &letter.body, sizeof letter.body) != 0 ||
      add(&letter, folder, (size_t)bytes) != 0 || add(&letter, path, strlen(path) + 1) != 0 ||
      add_strings(&letter, argv, &letter.body.argc) != 0 ||
      add_strings(&letter, envp, &letter.body.envc) != 0) {
    return -1;
  }
  letter.header = (struct message_header){
      .magic = MESSAGE_MAGIC,
      .version = MESSAGE_VERSION,
      .type = MESSAGE_EXECUTE,
      .body_bytes = (uint32_t)(letter.bytes - sizeof letter.header),
  };
  letter.body.request_id = engine->request_id;
  letter.body.device = file->st_dev;
  letter.body.inode = file->st_ino;
  letter.body.ignored = ignored;
  letter.body.strings_bytes = letter.header.body_bytes - (uint32_t)sizeof letter.body;
  struct msghdr packet = {.msg_iov = letter.parts, .msg_iovlen = letter.count};
  return raw_call(SYS_sendmsg, engine->channel, &packet, MSG_NOSIGNAL);
}

/* The next message, of that type: its descriptor, or -1. Ends the process if the bridge is gone, or
 * says anything else. */
static int await(const struct engine *engine, enum message_type type) {
  struct message_header header;
  struct iovec part = {&header, sizeof header};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  struct msghdr packet = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  long got;
  do {
    got = raw_call(SYS_recvmsg, engine->channel, &packet, MSG_CMSG_CLOEXEC);
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

/* The files that were passed on are held meanwhile. */
static _Noreturn void wait_for_its_end(struct engine *engine, int peer,
                                       const struct inherited_numbers *numbers, char was_clean) {
  struct pollfd watched[] = {{engine->channel, POLLIN, 0}, {peer, POLLIN, 0}};
  raw_call(SYS_close_range, 0, kStreams - 1, 0);
  inherited_keep(numbers);
  timers_put_back(was_clean);
  hear_signals_by_default();
  while (watched[0].revents == 0) {
    raw_call(SYS_ppoll, watched, 2, NULL, NULL, kMaskBytes);
    if (watched[1].revents != 0 && inherited_serve(peer) != 0) watched[1].fd = -1;
  }
  await(engine, MESSAGE_EXECUTED);
  state.is_clean = was_clean;
  clean_end();
  rewind_end(0, thread_that_leaves());
}

static void close_between(int from, int to) {
  if (from <= to) raw_call(SYS_close_range, from, to, 0);
}

/* All but 0, 1 and 2, those that are passed on, peer, and our own. */
static void close_others(const struct engine *engine, int peer,
                         const struct inherited_numbers *numbers) {
  int from = kStreams;
  while (from < engine->first_own_fd) {
    int next = peer >= from && peer < engine->first_own_fd ? peer : engine->first_own_fd;
    for (size_t i = 0; i < numbers->count; ++i) {
      if (numbers->fds[i] >= from && numbers->fds[i] < next) next = numbers->fds[i];
    }
    close_between(from, next - 1);
    from = next + 1;
  }
  int last = engine->last_own_fd;
  if (inherited_peer() > last) {
    close_between(last + 1, inherited_peer() - 1);
    last = inherited_peer();
  }
  raw_call(SYS_close_range, last + 1, ~0u, 0);
}

static int let_go_if_closed(int fd, void *unused) {
  (void)unused;
  if (!is_own(state.engine, fd) && is_closed_at_exec(fd)) inherited_let_go(fd);
  return 0;
}

/* Its descriptors are closed before the other program begins, as they would be by now. */
static void try_it(struct engine *engine, const char *path, char *const argv[], char *const envp[],
                   char was_clean, uint32_t ignored) {
  struct inherited_numbers numbers;
  struct stat file;
  int may_hold = !was_clean || (state.touched & TOUCHED_STREAMS) != 0;
  if (!is_plain_executable(path, &file) || !is_ordinary_environment(envp) ||
      list_inherited(engine, &numbers) != 0 ||
      ((may_hold || numbers.count > 0) && !files_can_be_passed(engine, &numbers)) ||
      ask(engine, path, &file, argv, envp, ignored) < 0) {
    return;
  }
  int peer = await(engine, MESSAGE_EXECUTED_BY);
  if (peer < 0) return;
  if (engine->inherited.count > 0) descriptors_visit(engine->fds_fd, let_go_if_closed, NULL);
  close_others(engine, peer, &numbers);
  if (inherited_send(peer, &numbers) == 0) wait_for_its_end(engine, peer, &numbers, was_clean);
  raw_call(SYS_close, peer);
}

int hand_over_is_possible(void) {
  return state.role == ROLE_ANSWERING && state.reset == RESET_REWIND && getpid() == state.pid &&
         gettid() == state.pid && state.engine->left_out == 0;
}

void hand_over(const char *path, char *const argv[], char *const envp[]) {
  const uint64_t all = ~0ull;
  uint64_t mask = 0;
  uint32_t ignored = 0;
  if (!hand_over_is_possible() || !may_be_memory(path) || !may_be_memory(argv) ||
      (envp != NULL && !may_be_memory(envp))) {
    return;
  }
  struct engine *engine = state.engine;
  if (++state.executes > MESSAGE_EXECUTES_MAX) return;
  /* From here on the kernel hands no call back. */
  char was_clean = state.is_clean, handed_back = state.hands_back;
  state.is_clean = 0;
  state.hands_back = 0;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, kMaskBytes);
  if (can_be_handed_over(engine, mask, was_clean, &ignored))
    try_it(engine, path, argv, envp, was_clean, ignored);
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, kMaskBytes);
  state.is_clean = was_clean;
  state.hands_back = handed_back;
}
