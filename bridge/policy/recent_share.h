// How many of the last requests something was true of.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>

namespace policy {

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
