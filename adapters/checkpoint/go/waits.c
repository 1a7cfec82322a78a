/* Whether a system call may wait. The timer of a Go program's request (threads.c) sends a signal,
 * after which the kernel resumes most waits, but not these: they end, or return what was done until
 * then. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "go/program.h"
#include "raw_call.h"

#if defined(__x86_64__)

static int blocks(long fd) {
  return (raw_call(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK) == 0;
}

static int is_ready(long fd, short events) {
  struct pollfd one = {.fd = (int)fd, .events = events};
  return raw_call(SYS_poll, &one, 1, 0) != 0;
}

static int may_wait_to_read(long fd) {
  return !is_ready(fd, POLLIN) && blocks(fd);
}

/* An empty pipe takes as much as it has room for; one that is not full takes what is written
 * atomically. */
static int has_room(long pipe, size_t bytes) {
  enum { kAtOnce = 4096 }; /* PIPE_BUF */
  int held = 0;
  long room = raw_call(SYS_fcntl, pipe, F_GETPIPE_SZ);
  if (room < 0 || raw_call(SYS_ioctl, pipe, FIONREAD, &held) != 0) return 0;
  if (held == 0) return bytes <= (size_t)room;
  return bytes <= kAtOnce && is_ready(pipe, POLLOUT);
}

static int is_file_or_device(long fd) {
  struct stat status;
  if (raw_call(SYS_fstat, fd, &status) != 0) return 1; /* the call fails at once */
  return S_ISREG(status.st_mode) || S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
}

static int may_wait_to_write(long fd, size_t bytes) {
  return !has_room(fd, bytes) && !is_file_or_device(fd) && blocks(fd);
}

int go_call_may_wait(long number, const long *words) {
  enum { kAllBytes = 1 << 20 }; /* more than any pipe of an ordinary user holds */
  enum { kFutexWaitv = 449, kFutexWait = 455 };
  switch (number) {
    case SYS_futex:
      return ((int)words[1] & FUTEX_CMD_MASK) != FUTEX_WAKE;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return words[3] != 0;
    case SYS_read:
    case SYS_readv:
    case SYS_preadv2:
    case SYS_accept:
    case SYS_accept4:
      return may_wait_to_read(words[0]);
    case SYS_recvfrom:
      return may_wait_to_read(words[0]) || (words[3] & MSG_WAITALL) != 0;
    case SYS_recvmsg:
      return may_wait_to_read(words[0]) || (words[2] & MSG_WAITALL) != 0;
    case SYS_write:
    case SYS_sendto:
      return may_wait_to_write(words[0], (size_t)words[2]);
    case SYS_sendfile:
      return may_wait_to_write(words[0], (size_t)words[3]);
    case SYS_writev:
    case SYS_pwritev2:
    case SYS_sendmsg:
    case SYS_sendmmsg:
      return may_wait_to_write(words[0], kAllBytes);
    case SYS_connect:
    case SYS_recvmmsg:
      return blocks(words[0]);
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgsnd:
    case SYS_msgrcv:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    case SYS_io_uring_enter:
    case kFutexWaitv:
    case kFutexWait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_pwait2:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
    case SYS_pause:
      return 1;
    default:
      return 0;
  }
}

#endif
