/* See inherited.h. */
#include "rewind/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "calls/clean.h"
#include "checkpoint.h"
#include "raw_call.h"
#include "rewind/engine.h"

enum { kStreams = MESSAGE_REQUEST_FDS, kMost = kStreams + kInheritedMost };

/* Of a worker that exits after its request. Others keep it with the engine, which a reset leaves as
 * it is. */
static struct inherited_files own;

static struct inherited_files *of_request(void) {
  return state.reset == RESET_REWIND ? &state.engine->inherited : &own;
}

int inherited_peer(void) {
  return of_request()->peer - 1;
}

/* ---- what is sent: numbers, with the descriptors; one byte comes back ---- */

static long send_all(int peer, const int *fds, size_t count) {
  struct iovec part = {(void *)(uintptr_t)fds, count * sizeof(int)};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(kMost * sizeof(int))] = {0};
  struct msghdr packet = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control,
                          .msg_controllen = CMSG_SPACE(count * sizeof(int))};
  struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(count * sizeof(int));
  memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
  return raw_call(SYS_sendmsg, peer, &packet, MSG_NOSIGNAL);
}

/* How many descriptors came; their numbers are to be as many. -1: something else came. */
static int receive_all(int peer, int *numbers, int *fds) {
  struct iovec part = {numbers, kMost * sizeof(int)};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(kMost * sizeof(int))];
  struct msghdr packet = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  long got;
  do {
    got = raw_call(SYS_recvmsg, peer, &packet, 0);
  } while (got == -EINTR);
  const struct cmsghdr *rights = got > 0 ? CMSG_FIRSTHDR(&packet) : NULL;
  if (rights == NULL || rights->cmsg_type != SCM_RIGHTS || (packet.msg_flags & MSG_CTRUNC) != 0)
    return -1;
  size_t bytes = rights->cmsg_len - CMSG_LEN(0);
  if (bytes != (size_t)got || bytes > kMost * sizeof(int)) return -1;
  memcpy(fds, CMSG_DATA(rights), bytes);
  return (int)(bytes / sizeof(int));
}

static int has_answered(int peer) {
  char byte = 0;
  long got;
  do {
    got = raw_call(SYS_recvfrom, peer, &byte, 1, 0, NULL, NULL);
  } while (got == -EINTR);
  return got == 1 && byte != 0;
}

static void answer(int peer, char byte) {
  raw_call(SYS_sendto, peer, &byte, 1, MSG_NOSIGNAL, NULL, 0);
}

/* ---- the worker that takes the place ---- */

static int is_free(int fd) {
  return fd >= kStreams && fd < state.channel && raw_call(SYS_fcntl, fd, F_GETFD) == -EBADF;
}

/* Out of the way of all numbers that are wanted. */
static int move_all(int *fds, int count, const int *numbers) {
  int above = 4 * kMost, failed = 0;
  for (int i = 0; i < count; ++i) above = numbers[i] >= above ? numbers[i] + 1 : above;
  for (int i = 0; i < count; ++i) {
    long moved = raw_call(SYS_fcntl, fds[i], F_DUPFD, above);
    raw_call(SYS_close, fds[i]);
    fds[i] = (int)moved;
    failed |= moved < 0;
  }
  return failed ? -1 : 0;
}

static int put_into_place(const int *fds, int count, const int *numbers) {
  for (int i = 0; i < count; ++i) {
    if (numbers[i] != i && (i < kStreams || !is_free(numbers[i]))) return -1;
    if (raw_call(SYS_dup3, fds[i], numbers[i], 0) != numbers[i]) return -1;
    raw_call(SYS_close, fds[i]);
  }
  return 0;
}

static void remember(struct inherited_files *request, int fd) {
  struct stat status;
  if (raw_call(SYS_fstat, fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  request->files[request->count++] = (struct inherited_file){fd, status.st_dev, status.st_ino};
}

int inherited_take(int peer) {
  struct inherited_files *request = of_request();
  int fds[kMost], numbers[kMost];
  memset(request, 0, sizeof *request);
  /* Its own number may be wanted, too. */
  int high = descriptor_move_aside(peer);
  if (high < 0) return -1;
  int count = receive_all(high, numbers, fds);
  int is_taken = count >= kStreams && move_all(fds, count, numbers) == 0 &&
                 put_into_place(fds, count, numbers) == 0;
  for (int i = kStreams; is_taken && i < count; ++i) remember(request, numbers[i]);
  if (is_taken && request->count > 0) request->peer = high + 1;
  answer(high, (char)is_taken);
  if (request->peer == 0) raw_call(SYS_close, high);
  return is_taken ? 0 : -1;
}

/* The worker that waits closes this file, and so lets go of its locks. */
static void let_go_of(struct inherited_files *request, size_t index) {
  int fd = request->files[index].fd;
  int peer = request->peer - 1;
  char byte;
  request->files[index] = request->files[--request->count];
  if (libc_call(SYS_sendto, peer, &fd, sizeof fd, MSG_NOSIGNAL, NULL, 0) < 0) return;
  while (libc_call(SYS_recvfrom, peer, &byte, 1, 0, NULL, NULL) == -EINTR) {
  }
}

static int has_files(void) {
  return state.role == ROLE_ANSWERING && of_request()->count > 0 &&
         libc_call(SYS_getpid) == state.pid;
}

/* All descriptors of one file, because the locks are the process's and the file's. */
void inherited_let_go(long fd) {
  struct stat status;
  if (!has_files() || libc_call(SYS_fstat, fd, &status) != 0) return;
  struct inherited_files *request = of_request();
  for (size_t i = request->count; i > 0; --i) {
    const struct inherited_file *file = &request->files[i - 1];
    if (file->device == status.st_dev && file->inode == status.st_ino) let_go_of(request, i - 1);
  }
}

void inherited_let_all_go(void) {
  while (has_files()) let_go_of(of_request(), of_request()->count - 1);
}

/* ---- the worker that waits ---- */

int inherited_send(int peer, const struct inherited_numbers *numbers) {
  int fds[kMost] = {0, 1, 2};
  memcpy(fds + kStreams, numbers->fds, numbers->count * sizeof(int));
  if (send_all(peer, fds, kStreams + numbers->count) < 0) return -1;
  return has_answered(peer) ? 0 : -1;
}

void inherited_keep(const struct inherited_numbers *numbers) {
  struct stat status;
  for (size_t i = 0; i < numbers->count; ++i) {
    int fd = numbers->fds[i];
    if (raw_call(SYS_fstat, fd, &status) != 0 || !S_ISREG(status.st_mode)) raw_call(SYS_close, fd);
  }
}

/* Who has passed it on to us has a lock of its own. */
int inherited_serve(int peer) {
  int fd = -1;
  long got = raw_call(SYS_recvfrom, peer, &fd, sizeof fd, 0, NULL, NULL);
  if (got == -EINTR) return 0;
  if (got != (long)sizeof fd || fd < kStreams || fd >= state.channel) return -1;
  inherited_let_go(fd);
  raw_call(SYS_close, fd);
  answer(peer, 1);
  return 0;
}
