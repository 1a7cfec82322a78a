// The running timers, the earliest first.
#pragma once

#include <cstddef>
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
  // Moves a timer to its right place after its time was changed.
  void moved(Timer& timer);

  // When the earliest is due; none if no timer is running.
  std::optional<base::TimePoint> next_due() const;

  // Runs the timers that are due at now, earliest first; returns whether there were any. A timer
  // that its own callback starts again waits for the next turn.
  bool run_due(base::TimePoint now);

 private:
  void put(std::size_t place, Timer* timer);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);

  std::vector<Timer*> heap_;
};

}  // namespace loop
