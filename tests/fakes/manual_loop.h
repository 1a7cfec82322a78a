// A loop whose time a test moves by hand: hours pass in milliseconds, because nothing waits.
#pragma once

#include <algorithm>

#include "fakes/hand_clock.h"
#include "loop/loop.h"

namespace fakes {

// Descriptors are real: what a test or a fake writes into a pipe or a socket arrives at once, so a
// turn that finds nothing to do shows that everything is at rest.
class ManualLoop {
 public:
  loop::Loop& loop() { return loop_; }
  HandClock& clock() { return clock_; }
  base::TimePoint now() const { return clock_.now(); }

  // Turns until there is nothing to do, at most kTurnsMost times: two objects that wake each other
  // for ever are a fault. Returns whether it came to rest.
  bool settle() {
    for (int turns = 0; turns < kTurnsMost; ++turns) {
      if (!loop_.turn()) return true;
    }
    return false;
  }

  // Lets time pass from one due timer to the next, and settles at each. Returns whether it always
  // came to rest.
  bool advance(base::TimePoint::duration by) {
    const base::TimePoint until = clock_.now() + by;
    bool rests = settle();
    while (rests) {
      const auto due = loop_.next_due();
      if (!due || *due > until) break;
      clock_.advance_to(*due);
      rests = settle();
    }
    clock_.advance_to(until);
    return rests && settle();
  }

  static constexpr int kTurnsMost = 10000;

 private:
  HandClock clock_;
  loop::Loop loop_{clock_};
};

}  // namespace fakes
