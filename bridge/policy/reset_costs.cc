#include "policy/reset_costs.h"

#include <fmt/format.h>

#include <algorithm>

namespace policy {

void RecentMedian::add(std::chrono::microseconds time) {
  kept_[added_++ % kKept] = time;
}

std::chrono::microseconds RecentMedian::value() const {
  const std::size_t count = std::min(added_, kKept);
  if (count == 0) return {};
  auto sorted = kept_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

std::chrono::microseconds ResetCosts::rewinding() const {
  return (retired_per_cent * start + (100 - retired_per_cent) * rewind) / 100;
}

std::string ResetCosts::describe() const {
  return fmt::format(
      "a request costs {} us to put back or replace its worker, and {} us to fork one",
      rewinding().count(), forking().count());
}

}  // namespace policy
