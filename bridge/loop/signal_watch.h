// Calls back, on the loop, when the daemon receives a signal.
#pragma once

#include <functional>

#include "loop/loop.h"

namespace loop {

class SignalWatch {
 public:
  // Several signals of one number that arrive close together may be reported once.
  SignalWatch(Loop& loop, int signal_number, std::function<void()> on_signal);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void* husk_;
  std::function<void()> on_signal_;
};

}  // namespace loop
