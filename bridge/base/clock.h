// Points and spans of time. The current time comes from the loop (loop/clock.h).
#pragma once

#include <chrono>

namespace base {

// Steady, so that changing the wall clock does not move deadlines.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = std::chrono::milliseconds;

// The time from one point to a later one, in whole milliseconds (rounded down).
inline Duration milliseconds_between(TimePoint from, TimePoint until) {
  return std::chrono::duration_cast<Duration>(until - from);
}

}  // namespace base
