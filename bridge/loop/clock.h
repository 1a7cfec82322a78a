// Where time comes from. This is the only room of the bridge that asks the kernel for it.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace loop {

// Every decision that depends on time uses one of these: the loop itself (Loop::now()), a clock
// that a test moves by hand, or the machine's.
class Clock {
 public:
  virtual ~Clock() = default;

  // The steady time that the bridge uses. The loop's value stays the same throughout a turn.
  virtual base::TimePoint now() const = 0;

  // The same, read afresh on each call: only for work that paces itself by how long it takes.
  virtual base::TimePoint measured_now() const = 0;

  // The wall clock in nanoseconds since 1970, UTC, read afresh on each call: for output to people,
  // and for comparison with file times.
  virtual std::int64_t wall_ns() const = 0;

  // The clock that the kernel uses for file times, which lags wall_ns() by up to a few milliseconds
  // (CLOCK_REALTIME_COARSE, clock_gettime(2)). In nanoseconds as well.
  virtual std::int64_t file_stamp_ns() const = 0;

  // wall_ns() in milliseconds.
  std::int64_t unix_ms() const { return wall_ns() / 1'000'000; }
};

// The machine's clock: used by commands and read by a loop. It lives as long as the process.
const Clock& system_clock();

}  // namespace loop
