// Reads a unix stream socket without waking its other end.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace upstream {

// The kernel frees bytes when they are read, and tells whoever sleeps at the other end, in read(2)
// as well as in epoll_wait(2), that there is room to write: a turn for nothing behind each request.
// So what is read quietly stays in the socket until let_go(), which is called when something was
// sent the other way: that has woken the other end already.
//
// The socket stays readable meanwhile: who watches it asks for loop::kOnlyNew. It must be let go
// before the socket is closed, whose other end is told of a reset otherwise.
class QuietReader {
 public:
  // As recv(2) that does not wait; what was read before is let go first.
  ssize_t read(int fd, char* into, std::size_t size);
  ssize_t read_quietly(int fd, char* into, std::size_t size);

  // What was read leaves the socket. Free if nothing is left.
  void let_go(int fd);

 private:
  std::size_t left_ = 0;  // read, and still in the socket
};

}  // namespace upstream
