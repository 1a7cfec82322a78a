#include "sandbox/filter.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace sandbox {

void ReleaseFilter::operator()(void* filter) const {
  seccomp_release(filter);
}

base::Result<std::string> instructions_of(const Filter& filter) {
  const base::UniqueFd file(::memfd_create("cgibridge-filter", MFD_CLOEXEC));
  const int failure = seccomp_export_bpf(filter.get(), file.get());
  if (failure != 0) return base::errno_error("sandbox: cannot make a filter", -failure);
  std::string bytes(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
  if (::pread(file.get(), bytes.data(), bytes.size(), 0) != ssize_t(bytes.size())) {
    return base::errno_error("sandbox: cannot read a filter", errno);
  }
  return bytes;
}

}  // namespace sandbox
