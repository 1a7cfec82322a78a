// How much memory a process has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace base {

// A page shared by several processes counts for each with its share (PSS). Costs the kernel up to a
// millisecond. None if /proc does not tell: the process has ended, or belongs to another user.
std::optional<std::uint64_t> proportional_kib(pid_t pid);

// Whether a process has more than kib by PSS or, if that is not available, by the memory that it
// shares with nobody. Nearly free as long as its RSS (shared pages counted fully) is smaller.
bool has_more_than(pid_t pid, std::uint64_t kib);

}  // namespace base
