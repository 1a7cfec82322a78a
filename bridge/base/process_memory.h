// How much memory a process has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace base {

// A page that several processes share counts for each by its part (PSS). Takes the kernel up to a
// millisecond. None if /proc does not tell: it has ended, or belongs to somebody else.
std::optional<std::uint64_t> proportional_kib(pid_t pid);

// Whether a process has more than kib, by PSS, or where that is not told by what it shares with
// nobody. Nearly free as long as all that it has together (RSS) is less.
bool has_more_than(pid_t pid, std::uint64_t kib);

}  // namespace base
