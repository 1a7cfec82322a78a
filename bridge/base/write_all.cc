#include "base/write_all.h"

#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace base {

Status write_all(int fd, ByteView bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_error(what, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return Done{};
}

}  // namespace base
