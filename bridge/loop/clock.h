// Where time comes from: the one room of the bridge that asks the kernel for it.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace loop {

// Everything that decides by the time is given one of these: the loop itself (Loop::now()), a
// clock that a test moves by hand, or the machine's.
class Clock {
 public:
  virtual ~Clock() = default;

  // The steady time, as the bridge counts it. The loop's stands still throughout a turn.
  virtual base::TimePoint now() const = 0;

  // The same, asked anew each time: for work that paces itself by what it costs, and nothing else.
  virtual base::TimePoint measured_now() const = 0;

  // The wall clock in nanoseconds since 1970, UTC, asked anew each time: for people, and to compare
  // with the times of files.
  virtual std::int64_t wall_ns() const = 0;

  // The clock with which the kernel stamps files, which is up to some milliseconds behind
  // wall_ns() (CLOCK_REALTIME_COARSE, clock_gettime(2)). In the same unit.
  virtual std::int64_t file_stamp_ns() const = 0;

  // wall_ns() in milliseconds.
  std::int64_t unix_ms() const { return wall_ns() / 1'000'000; }
};

// The machine's clock, for commands, and as what a loop reads. It lives as long as the process.
const Clock& system_clock();

}  // namespace loop
