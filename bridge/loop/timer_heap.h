// The running timers, the earliest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace loop {

class Timer;

// One per loop. A binary heap in which each timer knows its place: a request starts and stops two
// or three timers that hardly ever become due, and neither action allocates.
class TimerHeap {
 public:
  // A timer's place while it is not running.
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  void add(Timer& timer);
  void remove(Timer& timer);
  // Moves a running timer to its right place after it was started again with another time.
  void restarted(Timer& timer);

  // When the earliest is due; none if no timer is running.
  std::optional<base::TimePoint> next_due() const;

  // Runs the timers that are due at now, earliest first, and of the same time the one started
  // first; returns whether there were any. A timer that a callback starts waits for the next turn.
  // No start() may set a time before now.
  bool run_due(base::TimePoint now);

 private:
  static bool is_before(const Timer& one, const Timer& other);
  void put(std::size_t place, Timer* timer);
  void move(Timer& timer);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);

  std::vector<Timer*> heap_;
  std::uint64_t starts_ = 0;
};

}  // namespace loop
