#include "loop/timer.h"

#include "loop/loop_impl.h"

namespace loop {
namespace {
using TimerHusk = Husk<uv_timer_t, Timer>;
TimerHusk* husk_of(void* husk) {
  return static_cast<TimerHusk*>(husk);
}
}  // namespace

Timer::Timer(Loop& loop, std::function<void()> on_due) : on_due_(std::move(on_due)) {
  auto* husk = new_husk<uv_timer_t>(this);
  uv_timer_init(&loop.impl().uv, &husk->uv);
  husk_ = husk;
}

Timer::~Timer() {
  close_husk(husk_of(husk_));
}

void Timer::start(base::Duration delay) {
  auto& uv = husk_of(husk_)->uv;
  // libuv counts from the start of the turn; a long turn must not make a delay shorter.
  uv_update_time(uv.loop);
  const auto on_uv = [](uv_timer_t* handle) {
    auto* husk = static_cast<TimerHusk*>(handle->data);
    if (husk->owner != nullptr) husk->owner->due();
  };
  uv_timer_start(&uv, on_uv, static_cast<std::uint64_t>(std::max<std::int64_t>(delay.count(), 0)),
                 0);
}

void Timer::stop() {
  uv_timer_stop(&husk_of(husk_)->uv);
}

void Timer::due() {
  const auto on_due = on_due_;  // the callback may destroy this timer
  on_due();
}

}  // namespace loop
