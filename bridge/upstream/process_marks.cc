#include "upstream/process_marks.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>

namespace upstream {

ProcessMarks marks_of(pid_t pid) {
  return {.priority = ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid)),
          .group = ::getpgid(pid),
          .leader = ::getsid(pid)};
}

std::chrono::nanoseconds cpu_time_of(pid_t pid) {
  // clock_getcpuclockid(3) computes the same number, plus a system call to check that it is valid.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2u);
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) return {};
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace upstream
