#include "base/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace base {
namespace {

// The first page of /proc/PID/NAME, which contains everything needed here.
std::string proc_text(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text;
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string();
}

}  // namespace

std::optional<std::uint64_t> proportional_kib(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const std::string rollup = proc_text(pid, "smaps_rollup");
  const std::size_t at = rollup.find("\nPss:");
  unsigned long long kib = 0;
  if (at == rollup.npos || std::sscanf(rollup.c_str() + at, "\nPss: %llu kB", &kib) != 1) {
    return std::nullopt;
  }
  return kib;
}

bool has_more_than(pid_t pid, std::uint64_t kib) {
  unsigned long long size = 0, resident = 0, shared = 0;
  if (std::sscanf(proc_text(pid, "statm").c_str(), "%llu %llu %llu", &size, &resident, &shared) !=
      3) {
    return false;
  }
  const auto page_kib = static_cast<unsigned long long>(::sysconf(_SC_PAGESIZE)) / 1024;
  if (resident * page_kib <= kib) return false;
  return proportional_kib(pid).value_or((resident - shared) * page_kib) > kib;
}

}  // namespace base
