/* What a load learns of its input, of who sent or is at the other end, and of where it runs: see
 * answers.h. */
#include <linux/fs.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "calls/passed_calls.h"
#include "calls/rare_calls.h"
#include "load/answers.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/kernel_state.h"
#include "rewind/threads_missing.h"

static int is_asked(void) {
  return state.role == ROLE_ZYGOTE && state.load.is_on;
}

static int is_one_of(long value, const int *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (values[i] == value) return 1;
  }
  return 0;
}
#define IS_ONE_OF(value, values) is_one_of(value, values, sizeof(values) / sizeof *(values))

/* ---- whether there is input ---- */

int load_watch_is_input(long fd) {
  struct stat status;
  if (fd == STDIN_FILENO) return 1;
  return fd > 0 && state.load.input.inode != 0 && raw_call(SYS_fstat, (int)fd, &status) == 0 &&
         S_ISFIFO(status.st_mode) && status.st_ino == state.load.input.inode;
}

void answers_see_input(const char *name, long fd, const void *caller) {
  if (is_asked() && load_watch_is_input((int)fd)) load_watch_note(IMPURE_INPUT, name, caller);
}

void answers_see_polled(const char *name, const void *polled, unsigned long count,
                        const void *caller) {
  const struct pollfd *one = polled;
  if (!is_asked() || !may_be_memory(polled)) return;
  for (; count > 0; --count, ++one) answers_see_input(name, one->fd, caller);
}

/* words: the highest number and one, the set to read from, to write to, of exceptions. */
void answers_see_selected(const char *name, const long *words, const void *caller) {
  const fd_set *sets[] = {(const fd_set *)words[1], (const fd_set *)words[3]};
  if (!is_asked()) return;
  for (int i = 0; i < 2; ++i) {
    if (!may_be_memory(sets[i])) continue;
    for (int fd = 0; fd < (int)words[0] && fd < FD_SETSIZE; ++fd) {
      if (FD_ISSET(fd, sets[i])) answers_see_input(name, fd, caller);
    }
  }
}

void *look_at_poll(const struct passed_call *call, const long *arguments) {
  answers_see_polled(call->name, (const void *)arguments[0], (unsigned long)arguments[1],
                     caller_of(arguments));
  return look_at_wait(call, arguments);
}

void *look_at_poll_with_mask(const struct passed_call *call, const long *arguments) {
  answers_see_polled(call->name, (const void *)arguments[0], (unsigned long)arguments[1],
                     caller_of(arguments));
  return look_at_wait_with_mask(call, arguments);
}

void *look_at_select(const struct passed_call *call, const long *arguments) {
  answers_see_selected(call->name, arguments, caller_of(arguments));
  return look_at_wait(call, arguments);
}

void *look_at_select_with_mask(const struct passed_call *call, const long *arguments) {
  answers_see_selected(call->name, arguments, caller_of(arguments));
  return look_at_wait_with_mask(call, arguments);
}

void *look_at_moved(const struct passed_call *call, const long *arguments) {
  int from = strncmp(call->name, "sendfile", 8) == 0 ? 1 : 0;
  answers_see_input(call->name, arguments[from], caller_of(arguments));
  return look_at_wait_for_all(call, arguments);
}

void *look_at_received(const struct passed_call *call, const long *arguments) {
  answers_see_input(call->name, arguments[0], caller_of(arguments));
  return look_at_wait(call, arguments);
}

/* ---- who is at the other end ---- */

/* Some are newer than some headers. */
enum { kPeerGroups = 59, kPassPidfd = 76, kPeerPidfd = 77, kCookie = 57, kIncomingNapi = 56 };

static void note_option(const char *name, const long *words, const void *caller) {
  static const int kOfPeer[] = {SO_PEERCRED, SO_PEERSEC, kPeerGroups, kPeerPidfd};
  static const int kOfSocket[] = {SO_INCOMING_CPU, kIncomingNapi, kCookie};
  if (!is_asked() || words[1] != SOL_SOCKET) return;
  if (IS_ONE_OF((int)words[2], kOfPeer)) load_watch_note(IMPURE_PID, name, caller);
  if (IS_ONE_OF((int)words[2], kOfSocket)) load_watch_note(IMPURE_RANDOM, name, caller);
}

void *look_at_option(const struct passed_call *call, const long *arguments) {
  note_option(call->name, arguments, caller_of(arguments));
  return NULL;
}

/* What is then received with each message. */
void answers_see_socket_option(const char *name, const long *words, const void *caller) {
  static const int kSender[] = {SO_PASSCRED, SO_PASSSEC, kPassPidfd};
  static const int kTime[] = {29, 35, 37,
                              63, 64, 65}; /* SO_TIMESTAMP, NS, TIMESTAMPING; old, new */
  if (!is_asked() || words[1] != SOL_SOCKET) return;
  if (IS_ONE_OF((int)words[2], kSender)) load_watch_note(IMPURE_PID, name, caller);
  if (IS_ONE_OF((int)words[2], kTime)) load_watch_note(IMPURE_TIME, name, caller);
}

/* One that the kernel has chosen, or that somebody has: libraries that look at what they were given
 * find no name at all. */
static void note_address(long number, const char *name, const long *words, const void *caller) {
  union {
    struct sockaddr any;
    struct sockaddr_storage room;
  } address;
  socklen_t bytes = sizeof address;
  if (!is_asked() || raw_call(number, (int)words[0], &address, &bytes) != 0) return;
  int is_unnamed = address.any.sa_family == AF_UNIX && bytes <= sizeof address.any.sa_family;
  const struct sockaddr_in *inet = (const struct sockaddr_in *)&address;
  int is_inet = address.any.sa_family == AF_INET || address.any.sa_family == AF_INET6;
  if (is_unnamed || (is_inet && inet->sin_port == 0)) return;
  load_watch_note(IMPURE_SOCKETS, name, caller);
}

void *look_at_address(const struct passed_call *call, const long *arguments) {
  long number = call->name[3] == 's' ? SYS_getsockname : SYS_getpeername;
  note_address(number, call->name, arguments, caller_of(arguments));
  return NULL;
}

void answers_see_ioctl(const char *name, const long *words, const void *caller) {
  enum { kSockets = 0x89, kStamp = 6, kStampNs = 7 }; /* the old ones have no more bits */
  unsigned request = (unsigned)words[1];
  if (!is_asked()) return;
  if (request == FIONREAD) return answers_see_input(name, words[0], caller);
  unsigned nr = _IOC_NR(request);
  if (request == FS_IOC_SETFLAGS || request == FS_IOC_FSSETXATTR)
    load_watch_note(IMPURE_FILES, name, caller);
  if (_IOC_TYPE(request) == kSockets && (nr == kStamp || nr == kStampNs))
    load_watch_note(IMPURE_TIME, name, caller);
}

/* ---- who sent a signal ---- */

/* A handler that is told who has sent it. */
static int is_told_sender(int number) {
  enum { kMaskBytes = 8 };
  struct signal_action action = {0};
  if (raw_call(SYS_rt_sigaction, number, NULL, &action, kMaskBytes) != 0) return 0;
  return action.handler != SIG_DFL && action.handler != SIG_IGN && (action.flags & SA_SIGINFO) != 0;
}

/* process: 0 stands for its group. */
void answers_see_signal(const char *name, long process, int number, const void *caller) {
  if (!is_asked()) return;
  enum impurity kind = number != 0 ? IMPURE_OTHERS : IMPURE_UNSEEN;
  if (process != state.pid) return load_watch_note(kind, name, caller);
  if (is_told_sender(number)) load_watch_note(IMPURE_PID, name, caller);
}

void *look_at_sent(const struct passed_call *call, const long *arguments) {
  int is_raise = call == &passed_raise;
  int is_others = call == &passed_killpg || call == &passed_pidfd_send_signal;
  long process = is_raise ? state.pid : is_others ? 0 : (int)arguments[0];
  answers_see_signal(call->name, process, (int)arguments[is_raise ? 0 : 1], caller_of(arguments));
  return NULL;
}

void *look_at_sent_to_thread(const struct passed_call *call, const long *arguments) {
  int at = call == &passed_tgkill ? 2 : 1;
  answers_see_signal(call->name, state.pid, (int)arguments[at], caller_of(arguments));
  return at == 2 ? look_at_threads(call, arguments) : look_at_thread(call, arguments);
}

/* 0 is this one. */
void answers_see_process(const char *name, long process, const void *caller) {
  if (process != 0 && process != state.pid && is_asked())
    load_watch_note(IMPURE_OTHERS, name, caller);
}

void *look_at_schedule(const struct passed_call *call, const long *arguments) {
  answers_see_process(call->name, (int)arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_priority(const struct passed_call *call, const long *arguments) {
  int is_one = (int)arguments[0] == PRIO_PROCESS;
  answers_see_process(call->name, is_one ? (int)arguments[1] : -1, caller_of(arguments));
  return NULL;
}

void *look_at_sender(const struct passed_call *call, const long *arguments) {
  load_watch_note(IMPURE_PID, call->name, caller_of(arguments));
  return NULL;
}

/* arguments: the second is where the sender is to be told. */
void *look_at_awaited_signal(const struct passed_call *call, const long *arguments) {
  if (arguments[1] != 0) load_watch_note(IMPURE_PID, call->name, caller_of(arguments));
  return look_at_wait(call, arguments);
}

/* The clock's number has the thread's. */
void *look_at_thread_clock(const struct passed_call *call, const long *arguments) {
  load_watch_note(IMPURE_PID, call->name, caller_of(arguments));
  return look_at_thread(call, arguments);
}

/* ---- where it runs ---- */

/* Allocators and virtual machines ask at any time; only constructors would keep it. */
void *look_at_processor(const struct passed_call *call, const long *arguments) {
  return state.level == LEVEL_LINKED ? look_at_random(call, arguments) : NULL;
}

/* ---- the same by number ---- */

static void see_signal_by_number(long number, const long *words, const void *caller) {
  static const char kName[] = "syscall for a signal";
  switch (number) {
    case SYS_kill:
    case SYS_rt_sigqueueinfo:
      return answers_see_signal(kName, (int)words[0], (int)words[1], caller);
    case SYS_tkill:
      return answers_see_signal(kName, state.pid, (int)words[1], caller);
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
      return answers_see_signal(kName, (int)words[0], (int)words[2], caller);
    case SYS_rt_sigtimedwait:
      if (words[1] == 0) return;
      return load_watch_note(IMPURE_PID, kName, caller);
    default:
      return load_watch_note(IMPURE_PID, kName, caller);
  }
}

static void see_socket_by_number(long number, const long *words, const void *caller) {
  static const char kName[] = "syscall of a socket";
  if (number == SYS_getsockopt) return note_option(kName, words, caller);
  if (number == SYS_setsockopt) return answers_see_socket_option(kName, words, caller);
  if (number != SYS_listen) return note_address(number, kName, words, caller);
  load_watch_note(IMPURE_SOCKETS, kName, caller);
}

static void see_input_by_number(long number, const long *words, const void *caller) {
  static const char kName[] = "syscall on standard input";
  switch (number) {
#ifdef SYS_fork
    case SYS_poll:
#endif
    case SYS_ppoll:
      return answers_see_polled(kName, (const void *)words[0], (unsigned long)words[1], caller);
#ifdef SYS_fork
    case SYS_select:
#endif
    case SYS_pselect6:
      return answers_see_selected(kName, words, caller);
    case SYS_epoll_ctl:
      if (words[1] == EPOLL_CTL_DEL) return;
      return answers_see_input(kName, words[2], caller);
    case SYS_sendfile:
      return answers_see_input(kName, words[1], caller);
    default:
      return answers_see_input(kName, words[0], caller);
  }
}

void answers_see_number_of_others(long number, const long *words, const void *caller) {
  switch (number) {
#ifdef SYS_fork
    case SYS_signalfd:
#endif
    case SYS_signalfd4:
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
    case SYS_rt_sigtimedwait:
      return see_signal_by_number(number, words, caller);
    case SYS_getsockopt:
    case SYS_setsockopt:
    case SYS_getsockname:
    case SYS_getpeername:
    case SYS_listen:
      return see_socket_by_number(number, words, caller);
    case SYS_ioctl:
      return answers_see_ioctl("syscall ioctl", words, caller);
#ifdef SYS_fork
    case SYS_poll:
    case SYS_select:
#endif
    case SYS_read:
    case SYS_readv:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_ctl:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
      return see_input_by_number(number, words, caller);
    case SYS_set_tid_address:
      return load_watch_note(IMPURE_PID, "syscall set_tid_address", caller);
    case SYS_getcpu:
      if (state.level == LEVEL_LINKED) load_watch_note(IMPURE_RANDOM, "syscall getcpu", caller);
      return;
    default:
      return;
  }
}
