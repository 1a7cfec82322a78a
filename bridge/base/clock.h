// Points and spans of time. What the time is now, the loop says (loop/clock.h).
#pragma once

#include <chrono>

namespace base {

// Steady, so that a change of the wall clock moves no deadline.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = std::chrono::milliseconds;

// From one point to a later one, in whole milliseconds.
inline Duration milliseconds_between(TimePoint from, TimePoint until) {
  return std::chrono::duration_cast<Duration>(until - from);
}

}  // namespace base
