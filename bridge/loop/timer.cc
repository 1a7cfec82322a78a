#include "loop/timer.h"

#include <algorithm>

#include "loop/loop_impl.h"

namespace loop {

Timer::Timer(Loop& loop, std::function<void()> on_due)
    : loop_(loop), heap_(loop.impl().timers), on_due_(std::move(on_due)) {}

Timer::~Timer() {
  stop();
}

void Timer::start(base::Duration delay) {
  due_at_ = loop_.now() + std::max(delay, base::Duration::zero());
  if (place_ == TimerHeap::kNowhere) {
    heap_.add(*this);
  } else {
    heap_.restarted(*this);
  }
}

void Timer::stop() {
  if (place_ != TimerHeap::kNowhere) heap_.remove(*this);
}

void Timer::due() {
  const auto on_due = on_due_;  // the callback may destroy this timer
  on_due();
}

}  // namespace loop
