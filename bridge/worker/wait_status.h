// How a program ended, in numbers and in words.
#pragma once

#include <sys/wait.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace worker {

// What END_REQUEST's appStatus says: the exit code, or 128 + the signal, as a shell has it.
inline std::uint32_t app_status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128u + static_cast<std::uint32_t>(WTERMSIG(wait_status));
  return static_cast<std::uint32_t>(WEXITSTATUS(wait_status));
}

// "exited with 2", "killed by signal 11 (Segmentation fault)".
inline std::string describe_end(int wait_status) {
  if (!WIFSIGNALED(wait_status)) {
    return "exited with " + std::to_string(WEXITSTATUS(wait_status));
  }
  const int signal_number = WTERMSIG(wait_status);
  return "killed by signal " + std::to_string(signal_number) + " (" + ::strsignal(signal_number) +
         ")";
}

}  // namespace worker
