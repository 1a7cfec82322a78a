#include "router/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace router {
namespace {

bool is_regular(int fd) {
  struct stat status;
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

base::UniqueFd open_regular(const std::string& path) {
  const base::UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place) return {};
  if (!is_regular(place.get())) {
    errno = EACCES;
    return {};
  }
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const std::string same = "/proc/self/fd/" + std::to_string(place.get());
  base::UniqueFd fd(::open(same.c_str(), kFlags));
  if (fd || errno != ENOENT) return fd;
  fd = base::UniqueFd(::open(path.c_str(), kFlags));  // there is no /proc
  if (!fd || is_regular(fd.get())) return fd;
  errno = EACCES;
  return {};
}

}  // namespace router
