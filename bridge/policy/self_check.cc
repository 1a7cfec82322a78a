#include "policy/self_check.h"

#include <algorithm>

namespace policy {

// How often the rarest of these behaviours was compared.
std::uint64_t SelfCheck::novelty(unsigned behaviours) const {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned i = 0; i < kBehaviours; ++i) {
    if ((behaviours >> i & 1) != 0) least = std::min(least, compared_[i]);
  }
  return least;
}

std::optional<std::size_t> SelfCheck::choose(const std::vector<RestingWorker>& workers,
                                             base::TimePoint now) const {
  if (now < next_) return std::nullopt;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const RestingWorker& worker = workers[i];
    if (worker.behaviours == 0 || now - worker.idle_since < kRest) continue;
    if (!chosen) {
      chosen = i;
      continue;
    }
    const RestingWorker& other = workers[*chosen];
    const auto own = novelty(worker.behaviours), others = novelty(other.behaviours);
    if (own < others || (own == others && worker.idle_since < other.idle_since)) chosen = i;
  }
  return chosen;
}

base::Duration SelfCheck::wait(base::TimePoint now) const {
  const auto rest = std::chrono::ceil<base::Duration>(next_ - now);
  return std::max(kRest, rest);
}

void SelfCheck::compared(unsigned behaviours, base::TimePoint now, std::chrono::microseconds took,
                         double per_cent) {
  for (unsigned i = 0; i < kBehaviours; ++i) {
    if ((behaviours >> i & 1) != 0) ++compared_[i];
  }
  const double pause = static_cast<double>(took.count()) * (100 / per_cent - 1);
  next_ = now + std::chrono::microseconds(static_cast<std::int64_t>(pause));
}

}  // namespace policy
