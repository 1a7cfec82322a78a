// Time as the bridge counts it: steady, so a change of the wall clock moves no deadline.
#pragma once

#include <chrono>
#include <cstdint>

namespace base {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = std::chrono::milliseconds;

// The wall clock, for people: milliseconds since 1970 in UTC.
inline std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace base
