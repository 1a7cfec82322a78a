// Calls back, on the loop, when the daemon gets a signal.
#pragma once

#include <functional>

#include "loop/loop.h"

namespace loop {

class SignalWatch {
 public:
  // Signals of one number that come close together may be told once.
  SignalWatch(Loop& loop, int signal_number, std::function<void()> on_signal);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void* husk_;
  std::function<void()> on_signal_;
};

}  // namespace loop
