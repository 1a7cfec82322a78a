#include "policy/recent_peak.h"

#include <algorithm>

namespace policy {

void RecentPeak::note(unsigned at_once, base::TimePoint now, base::Duration window) {
  if (!spans_.empty()) spans_.back().until = now;
  while (!spans_.empty() && spans_.back().at_once <= at_once) spans_.pop_back();
  const auto first_that_counts = std::find_if(
      spans_.begin(), spans_.end(), [&](const Span& span) { return now - span.until < window; });
  spans_.erase(spans_.begin(), first_that_counts);
  spans_.push_back({at_once, now});
}

}  // namespace policy
