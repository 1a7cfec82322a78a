// A one-shot timer.
#pragma once

#include <functional>

#include "base/clock.h"
#include "loop/loop.h"

namespace loop {

class Timer {
 public:
  // on_due runs on the loop; it may destroy the timer.
  Timer(Loop& loop, std::function<void()> on_due);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Due once after delay, counted from now; a start before that one was due replaces it.
  void start(base::Duration delay);
  void stop();

 private:
  void due();

  void* husk_;
  std::function<void()> on_due_;
};

}  // namespace loop
