// Time as the bridge counts it: steady, so a change of the wall clock moves no deadline.
#pragma once

#include <chrono>

namespace base {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = std::chrono::milliseconds;

}  // namespace base
