#include "gateway/body_spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace gateway {

base::Result<BodySpool> BodySpool::make() {
  base::UniqueFd fd(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) fd = base::UniqueFd(::memfd_create("cgibridge-body", MFD_CLOEXEC));
  if (!fd) return base::errno_error("cannot keep a body", errno);
  return BodySpool(std::move(fd));
}

base::Status BodySpool::write(base::ByteView piece) {
  while (!piece.empty()) {
    const ssize_t written = ::write(fd_.get(), piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::errno_error("cannot keep a body", errno);
    piece.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return base::Done{};
}

base::UniqueFd BodySpool::take() {
  ::lseek(fd_.get(), 0, SEEK_SET);
  return std::move(fd_);
}

}  // namespace gateway
