// The bridge is one process with one thread. libuv 1.45 to 1.48 (Ubuntu 24.04) gives each loop an
// io_uring with a thread of the kernel's (SQPOLL), which counts like one of the bridge's own. It is
// for requests about files, of which the bridge makes none. The environment says whether libuv may
// have it; libuv asks once in a process, when the first loop is made.
#pragma once

#include <optional>
#include <string>

namespace loop {

// As long as one lives, the environment says UV_USE_IO_URING=0. Afterwards it is as it was: the
// bridge hands its own environment on to its successor, and as fcgiwrap to programs, for which
// somebody may have set the variable.
class WithoutRings {
 public:
  WithoutRings();
  ~WithoutRings();
  WithoutRings(const WithoutRings&) = delete;
  WithoutRings& operator=(const WithoutRings&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace loop
