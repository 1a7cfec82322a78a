// A clock that a test moves by hand.
#pragma once

#include <chrono>

#include "loop/clock.h"

namespace fakes {

// Begins at the machine's wall clock, so that files made earlier are older than what follows. After
// that it moves only by advance().
class HandClock final : public loop::Clock {
 public:
  base::TimePoint now() const override { return now_; }
  base::TimePoint measured_now() const override { return now_; }
  std::int64_t wall_ns() const override { return wall_ns_; }
  std::int64_t file_stamp_ns() const override { return wall_ns_; }

  void advance(base::TimePoint::duration by) {
    now_ += by;
    wall_ns_ += by.count();
  }
  void advance_to(base::TimePoint until) {
    if (until > now_) advance(until - now_);
  }

 private:
  base::TimePoint now_ = base::TimePoint() + std::chrono::hours(1);
  std::int64_t wall_ns_ = loop::system_clock().wall_ns();
};

}  // namespace fakes
