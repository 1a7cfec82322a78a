// Which resting worker is compared with its zygote next, and when, while nobody needs the CPU.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace policy {

// What a request did, as bits: leaks are looked for first where they are most likely. Every request
// has kOrdinary.
constexpr unsigned kOrdinary = 1;
constexpr unsigned kRareCall = 2;     // changed kernel state that few programs change
constexpr unsigned kForked = 4;       // had child processes
constexpr unsigned kLoaded = 8;       // loaded something
constexpr unsigned kComplained = 16;  // wrote to its standard error
constexpr unsigned kFailed = 32;      // ended with an exit code other than 0
constexpr unsigned kBehaviours = 6;

// A worker without a request.
struct RestingWorker {
  unsigned behaviours = 0;  // of its requests since it was last compared; 0: no requests
  base::TimePoint idle_since{};
};

// The worker whose behaviour has been compared least often comes first, so that new behaviour of a
// program is checked at once; among equals, the one that has rested longest. Comparisons take at
// most per_cent of the time, over any period longer than a few of them.
class SelfCheck {
 public:
  // How long a worker must rest before it is compared: its next request may be on its way.
  static constexpr base::Duration kRest{20};

  // The index of the worker to compare; none if there is nothing to compare now.
  std::optional<std::size_t> choose(const std::vector<RestingWorker>& workers,
                                    base::TimePoint now) const;
  // How long to wait before the next comparison may begin.
  base::Duration wait(base::TimePoint now) const;
  // A comparison is over; took: how long it took. per_cent: rewind.verify_cpu, above 0.
  void compared(unsigned behaviours, base::TimePoint now, std::chrono::microseconds took,
                double per_cent);

 private:
  std::uint64_t novelty(unsigned behaviours) const;

  std::array<std::uint64_t, kBehaviours> compared_{};
  base::TimePoint next_{};
};

}  // namespace policy
