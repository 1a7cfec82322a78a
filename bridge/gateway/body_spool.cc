#include "gateway/body_spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/write_all.h"

namespace gateway {

base::Result<BodySpool> BodySpool::make() {
  base::UniqueFd fd(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) fd = base::UniqueFd(::memfd_create("cgibridge-body", MFD_CLOEXEC));
  if (!fd) return base::errno_error("cannot keep a body", errno);
  return BodySpool(std::move(fd));
}

base::Status BodySpool::write(base::ByteView piece) {
  const auto written = base::write_all(fd_.get(), piece, "cannot keep a body");
  if (written) size_ += piece.size();
  return written;
}

base::UniqueFd BodySpool::take() {
  ::lseek(fd_.get(), 0, SEEK_SET);
  return std::move(fd_);
}

}  // namespace gateway
