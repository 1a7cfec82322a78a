// The timers that run, the earliest first.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace loop {

class Timer;

// One per loop. A binary heap in which each timer knows its place: a request starts and stops two
// or three timers that are hardly ever due, and neither allocates.
class TimerHeap {
 public:
  // A timer's place while it does not run.
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  void add(Timer& timer);
  void remove(Timer& timer);
  // Puts a timer in the heap right after its time was changed.
  void moved(Timer& timer);

  // When the earliest is due; none if no timer runs.
  std::optional<base::TimePoint> next_due() const;

  // Runs those that are due by now, in their order; whether there were any. One that its callback
  // starts again waits for the next turn.
  bool run_due(base::TimePoint now);

 private:
  void put(std::size_t place, Timer* timer);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);

  std::vector<Timer*> heap_;
};

}  // namespace loop
