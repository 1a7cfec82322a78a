// One owner per descriptor; destroying closes it.
#pragma once

#include <utility>

#include "base/result.h"

namespace base {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

  // Closes what is held, if anything. May be called twice.
  void reset();

 private:
  int fd_ = -1;
};

// The two ends of a pipe or a socket pair, all close-on-exec.
struct FdPair {
  UniqueFd first;   // a pipe's reading end
  UniqueFd second;  // a pipe's writing end
};

// Which end of a pipe gives EAGAIN instead of waiting.
enum class NonblockingEnd { none, reading, writing };

Result<FdPair> make_pipe(NonblockingEnd nonblocking = NonblockingEnd::none);

// An empty standard input: a pipe's reading end whose other end is closed. Each call makes a new
// pipe, because flags, signal owners and locks would apply to everybody who shares one. /dev/null
// would not do: a lock belongs to the file, so it is shared even if the file is opened again.
Result<UniqueFd> make_empty_input();

// A connected pair of AF_UNIX sockets of type (SOCK_STREAM, SOCK_SEQPACKET; SOCK_CLOEXEC is added).
Result<FdPair> make_socket_pair(int type);

// Makes reads and writes of fd give EAGAIN instead of waiting (O_NONBLOCK).
void set_nonblocking(int fd);

// "what: the text of errno error_number".
Error errno_error(const std::string& what, int error_number);

}  // namespace base
