/* A local socket whose other end is closed, at the checkpoint: java.nio keeps one, to put it in the
 * place of descriptors that another thread waits on when they are closed. Nothing can be sent to it
 * or come from it any more, so a new one is like it. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "checkpoint.h"
#include "raw_call.h"

enum { kOptionBytes = 64 };

static const int kOptions[] = {SO_BROADCAST, SO_DONTROUTE, SO_KEEPALIVE, SO_LINGER,
                               SO_MARK,      SO_OOBINLINE, SO_PASSCRED,  SO_PASSSEC,
                               SO_PEEK_OFF,  SO_PRIORITY,  SO_RCVBUF,    SO_RCVLOWAT,
                               SO_RCVTIMEO,  SO_SNDBUF,    SO_SNDTIMEO,  SO_TIMESTAMP};

static int has(int fd, int option, int wanted) {
  int value = -1;
  socklen_t bytes = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 && value == wanted;
}

static int has_options_of(int fd, int other) {
  for (size_t i = 0; i < sizeof kOptions / sizeof *kOptions; ++i) {
    char a[kOptionBytes], b[kOptionBytes];
    socklen_t of_a = sizeof a, of_b = sizeof b;
    int known = getsockopt(fd, SOL_SOCKET, kOptions[i], a, &of_a);
    if (known != getsockopt(other, SOL_SOCKET, kOptions[i], b, &of_b)) return 0;
    if (known == 0 && (of_a != of_b || memcmp(a, b, of_a) != 0)) return 0;
  }
  return 1;
}

static int has_no_name(int fd) {
  struct sockaddr_storage name;
  socklen_t bytes = sizeof name;
  return getsockname(fd, (struct sockaddr *)&name, &bytes) == 0 && bytes == sizeof name.ss_family;
}

static int has_ended(int fd) {
  char byte;
  struct pollfd look = {.fd = fd, .events = POLLIN};
  return poll(&look, 1, 0) == 1 && (look.revents & POLLHUP) != 0 &&
         recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

long socket_make(const struct open_file *file) {
  int ends[2];
  int flags = SOCK_STREAM | SOCK_CLOEXEC | ((file->flags & O_NONBLOCK) != 0 ? SOCK_NONBLOCK : 0);
  long result = raw_call(SYS_socketpair, AF_UNIX, flags, 0, ends);
  if (result != 0) return result;
  raw_call(SYS_close, ends[1]);
  return ends[0];
}

const char *socket_take(int fd, struct open_file *file) {
  file->kind = FILE_ENDED_SOCKET;
  if (!has(fd, SO_DOMAIN, AF_UNIX) || !has(fd, SO_TYPE, SOCK_STREAM) || !has_no_name(fd) ||
      !has_ended(fd) || !has(fd, SO_ERROR, 0) || (file->flags & ~(O_ACCMODE | O_NONBLOCK)) != 0) {
    return "not a file";
  }
  long other = socket_make(file);
  if (other < 0) return "not a file";
  int is_usual = has_options_of(fd, (int)other);
  close((int)other);
  return is_usual ? NULL : "a socket with options of its own";
}
