#include "policy/rewind_record.h"

#include <algorithm>

namespace policy {

void RewindRecord::add(std::uint32_t tracking, std::uint32_t pages, std::uint32_t microseconds) {
  const Figures figures{pages, microseconds};
  if (kept_.size() < kKept) {
    kept_.push_back(figures);
  } else {
    kept_[rewinds_ % kKept] = figures;
  }
  rewinds_ += 1;
  tracking_ = tracking;
  // A rewind that was held up for a second must not count as a second.
  const std::uint32_t bounded = std::min<std::uint32_t>(microseconds, 100'000);
  smooth_sixteenths_ += bounded;
  smooth_sixteenths_ -= smooth_sixteenths_ / 16;
}

Percentiles RewindRecord::percentiles(Figure figure) const {
  if (kept_.empty()) return {};
  std::vector<std::uint32_t> values;
  values.reserve(kept_.size());
  for (const Figures& figures : kept_) values.push_back(figures.*figure);
  std::sort(values.begin(), values.end());
  return {values[(values.size() - 1) / 2], values[(values.size() - 1) * 99 / 100]};
}

Percentiles RewindRecord::pages() const {
  return percentiles(&Figures::pages);
}

Percentiles RewindRecord::microseconds() const {
  return percentiles(&Figures::microseconds);
}

std::chrono::microseconds RewindRecord::usual_time() const {
  const std::uint32_t mean = smooth_sixteenths_ / 16;
  return std::chrono::microseconds(mean + mean / 2);
}

}  // namespace policy
