// The most of what was at once lately.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace policy {

// Told each number as it changes, it knows the greatest that there was during the last while.
// Remembers no more than one entry for each number up to that.
class RecentPeak {
 public:
  // From now on there are so many; window: how long a greater number before it still counts.
  void note(unsigned at_once, base::TimePoint now, base::Duration window);
  // Of what was noted, as of the last note().
  unsigned value() const { return spans_.empty() ? 0 : spans_.front().at_once; }
  // Nothing that was before counts any more.
  void forget() { spans_.clear(); }

 private:
  struct Span {
    unsigned at_once;
    base::TimePoint until;  // since when there have been fewer; of the last one: not yet
  };
  std::vector<Span> spans_;  // falling, in the order of time; the last one is that of now
};

// How many of the last requests something was true of.
class RecentShare {
 public:
  // So many requests are looked back on.
  static constexpr std::size_t kWindow = 50;

  enum class Was { no, yes };
  void note(Was was) {
    const bool is_true = was == Was::yes;
    true_in_window_ -= window_[next_] ? 1 : 0;
    true_in_window_ += is_true ? 1 : 0;
    window_[next_] = is_true;
    next_ = (next_ + 1) % kWindow;
    seen_ = std::min(seen_ + 1, kWindow);
  }
  // False as long as there were fewer than kWindow.
  bool more_than(unsigned per_cent) const {
    return seen_ == kWindow && true_in_window_ * 100 > per_cent * kWindow;
  }
  unsigned count() const { return true_in_window_; }
  unsigned per_cent() const { return static_cast<unsigned>(true_in_window_ * 100 / kWindow); }

 private:
  std::bitset<kWindow> window_;
  std::size_t next_ = 0;
  std::size_t seen_ = 0;
  unsigned true_in_window_ = 0;
};

}  // namespace policy
