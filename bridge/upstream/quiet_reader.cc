#include "upstream/quiet_reader.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace upstream {

ssize_t QuietReader::read(int fd, char* into, std::size_t size) {
  let_go(fd);
  return ::recv(fd, into, size, MSG_DONTWAIT);
}

ssize_t QuietReader::read_quietly(int fd, char* into, std::size_t size) {
  let_go(fd);
  const ssize_t got = ::recv(fd, into, size, MSG_DONTWAIT | MSG_PEEK);
  if (got > 0) left_ = static_cast<std::size_t>(got);
  return got;
}

void QuietReader::let_go(int fd) {
  std::array<char, 4 * base::kKiB> unused;
  while (left_ > 0) {
    const ssize_t got = ::recv(fd, unused.data(), std::min(left_, unused.size()), MSG_DONTWAIT);
    left_ -= got <= 0 ? left_ : static_cast<std::size_t>(got);
  }
}

}  // namespace upstream
