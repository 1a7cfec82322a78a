// Which resting worker is compared with its zygote next, while nobody needs the time, and when.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace policy {

// What a request did, as bits: a leak is looked for first where it is likeliest. Every request has
// kOrdinary.
constexpr unsigned kOrdinary = 1;
constexpr unsigned kRareCall = 2;     // changed kernel state that few programs change
constexpr unsigned kForked = 4;       // had child processes
constexpr unsigned kLoaded = 8;       // loaded something
constexpr unsigned kComplained = 16;  // wrote to its standard error
constexpr unsigned kFailed = 32;      // ended with an exit code that is not 0
constexpr unsigned kBehaviours = 6;

// A worker without a request.
struct RestingWorker {
  unsigned behaviours = 0;  // of its requests since it was last compared; 0: there was none
  base::TimePoint idle_since{};
};

// A worker with the behaviour that was compared least often so far comes first, so that what is new
// in a program is looked at at once; among equals the one that waits longest. Comparisons take
// per_cent of the time at most, over any time that is longer than a few of them.
class SelfCheck {
 public:
  // A worker rests for so long before it is worth a look: its next request may be on its way.
  static constexpr base::Duration kRest{20};

  // The index of the one; none if nobody is to be compared now.
  std::optional<std::size_t> choose(const std::vector<RestingWorker>& workers,
                                    base::TimePoint now) const;
  // How long to wait before the next comparison may begin.
  base::Duration wait(base::TimePoint now) const;
  // One is over, that took so long; per_cent: rewind.verify_cpu, above 0.
  void compared(unsigned behaviours, base::TimePoint now, std::chrono::microseconds took,
                double per_cent);

 private:
  std::uint64_t novelty(unsigned behaviours) const;

  std::array<std::uint64_t, kBehaviours> compared_{};
  base::TimePoint next_{};
};

}  // namespace policy
