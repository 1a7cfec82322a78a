#include "base/idle_cores.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>

#include "base/unique_fd.h"

namespace base {
namespace {

unsigned cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

// Reads the fourth word of /proc/loadavg: "running/all".
unsigned running_tasks() {
  const UniqueFd file(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t got = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (got <= 0) return 0;
  text[got] = '\0';
  unsigned running = 0;
  return std::sscanf(text, "%*s %*s %*s %u/", &running) == 1 ? running : 0;
}

}  // namespace

unsigned idle_cores() {
  const unsigned running = running_tasks();
  const unsigned others = running > 0 ? running - 1 : 0;
  const unsigned all = cores();
  return all > others ? all - others : 0;
}

}  // namespace base
