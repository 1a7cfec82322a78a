// Recent maxima and shares.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace policy {

// The greatest of a number's recent values; each change must be noted. It remembers at most one
// entry for each number up to the greatest.
class RecentPeak {
 public:
  // From now on the number is at_once. window: how long a greater earlier number still counts.
  void note(unsigned at_once, base::TimePoint now, base::Duration window);
  // The greatest, as of the last note().
  unsigned value() const { return spans_.empty() ? 0 : spans_.front().at_once; }
  // Nothing noted before counts any more.
  void forget() { spans_.clear(); }

 private:
  struct Span {
    unsigned at_once;
    base::TimePoint until;  // when the number fell below this; without meaning in the last
  };
  std::vector<Span> spans_;  // falling, in order of time; the last is the present one
};

// For how many of the last requests something was true.
class RecentShare {
 public:
  // How many of the last requests count.
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
  // False as long as there have been fewer than kWindow requests.
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
