#include "cli/printed.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

namespace cli {
namespace {

bool has_no_reader(int fd) {
  pollfd asked{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR) != 0;
}

// Not by fmt::print(), which throws if standard error itself cannot be written.
int tell(const std::string& why) {
  std::fputs(("cgibridge: " + why + "\n").c_str(), stderr);
  return 1;
}

}  // namespace

void open_missing_streams() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

int exit_code_of(const std::function<int()>& command) {
  int code = 0;
  try {
    code = command();
  } catch (const std::system_error& failed) {  // fmt::print() could not write
    if (has_no_reader(STDOUT_FILENO)) return 1;
    return tell(failed.what());
  }
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return code;
  const int error = errno;
  if (has_no_reader(STDOUT_FILENO)) return code;
  tell(std::string("standard output: ") +
       (failed_before ? "not all was written" : std::strerror(error)));
  return std::max(code, 1);
}

}  // namespace cli
