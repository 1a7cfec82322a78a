// How long to wait before trying again after a failure.
#pragma once

#include <optional>

#include "base/clock.h"

namespace policy {

// Failures in a row double the pause, up to most; a success resets it.
class Backoff {
 public:
  // at_once: the first failures in a row, as many as this, are followed by another try without a
  // pause.
  Backoff(base::Duration first, base::Duration most, unsigned at_once = 0)
      : first_(first), most_(most), at_once_(at_once) {}

  // Notes a failure; returns how long to wait now.
  base::Duration failed();
  void succeeded() { failures_ = 0; }

  unsigned failures() const { return failures_; }

 private:
  const base::Duration first_;
  const base::Duration most_;
  const unsigned at_once_;
  unsigned failures_ = 0;
};

// When something that failed is tried again: after first, then after ever longer pauses while it
// fails, up to most. If it has held for longer than first, it works.
class Retry {
 public:
  Retry(base::Duration first, base::Duration most) : first_(first), backoff_(first, most) {}

  void begins(base::TimePoint now) { since_ = now; }  // a try begins, or its result begins to serve
  void fails(base::TimePoint now) {
    since_ = now;
    pause_ = backoff_.failed();
  }
  // All is well, or whatever comes next decides: nothing is to be tried again.
  void forget_pause() { pause_ = {}; }
  // Past failures no longer count: the next pause is the first again.
  void forget_failures() { backoff_.succeeded(); }

  bool has_held(base::TimePoint now) const { return now > since_ + first_; }
  base::Duration pause() const { return pause_; }  // 0: nothing is to be tried again
  std::optional<base::TimePoint> due_at() const {
    return pause_.count() == 0 ? std::nullopt : std::optional(since_ + pause_);
  }

 private:
  const base::Duration first_;
  Backoff backoff_;
  base::TimePoint since_{};
  base::Duration pause_{0};
};

}  // namespace policy
