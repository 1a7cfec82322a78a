// Reads a unix stream socket without waking its other end.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace upstream {

// The kernel frees bytes when they are read, and wakes whoever sleeps at the other end, in read(2)
// as well as in epoll_wait(2), because there is room to write: a useless wake-up after each
// request. So what is read quietly stays in the socket until let_go(), which is called after
// something was sent the other way, since that has already woken the other end.
//
// The socket stays readable in the meantime: whoever watches it must ask for loop::kOnlyNew. Call
// let_go() before closing the socket, or the other end sees a reset.
class QuietReader {
 public:
  // Like recv(2) without waiting; what was read before is let go first.
  ssize_t read(int fd, char* into, std::size_t size);
  ssize_t read_quietly(int fd, char* into, std::size_t size);

  // Removes from the socket what was read. Costs nothing if nothing is left.
  void let_go(int fd);

 private:
  std::size_t left_ = 0;  // read, and still in the socket
};

}  // namespace upstream
