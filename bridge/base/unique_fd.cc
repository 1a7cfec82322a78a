#include "base/unique_fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace base {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<FdPair> make_pipe(NonblockingEnd nonblocking) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return errno_error("pipe2", errno);
  // A new end has no flags that must be kept.
  if (nonblocking == NonblockingEnd::reading) ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  if (nonblocking == NonblockingEnd::writing) ::fcntl(fds[1], F_SETFL, O_NONBLOCK);
  return FdPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Result<UniqueFd> make_empty_input() {
  auto ends = make_pipe();
  if (!ends) return ends.error();
  return std::move(ends.value().first);
}

Result<FdPair> make_socket_pair(int type) {
  int fds[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0) {
    return errno_error("socketpair", errno);
  }
  return FdPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) == 0) ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

Error errno_error(const std::string& what, int error_number) {
  return Error{what + ": " + std::strerror(error_number)};
}

}  // namespace base
