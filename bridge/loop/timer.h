// A one-shot timer.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "loop/loop.h"
#include "loop/timer_heap.h"

namespace loop {

class Timer {
 public:
  // on_due runs on the loop; it may destroy the timer.
  Timer(Loop& loop, std::function<void()> on_due);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Makes on_due run once after delay, counted from the loop's now(): never earlier, and normally
  // at most about a millisecond later. A new start() replaces one not yet due. No system call.
  void start(base::Duration delay);
  void stop();

 private:
  friend class TimerHeap;
  void due();

  const Loop& loop_;
  TimerHeap& heap_;
  std::function<void()> on_due_;
  base::TimePoint due_at_{};
  std::uint64_t start_number_ = 0;  // the heap's count of starts
  std::size_t place_ = TimerHeap::kNowhere;
};

}  // namespace loop
