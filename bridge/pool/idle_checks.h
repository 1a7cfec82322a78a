// Compares idle workers with their zygote while a core is free.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "config/program_settings.h"
#include "loop/timer.h"
#include "policy/self_check.h"

namespace pool {

// Decides when to compare which worker, one at a time, within rewind.verify_cpu. The worker stays
// idle meanwhile: a request that comes to it ends the comparison, and what was found until then is
// ignored. So nobody ever waits for a comparison. Owned by the workers.
class IdleChecks {
 public:
  struct Candidate {
    std::uint64_t worker_id;
    policy::RestingWorker resting;
  };
  // Both run on the loop.
  struct Events {
    std::function<std::vector<Candidate>()> candidates;
    // Asks this worker whether it is at rest; returns the id of the look that follows. 0: it cannot
    // be asked.
    std::function<std::uint64_t(std::uint64_t worker_id)> ask;
    std::function<unsigned()> idle_cores;
  };

  // settings are read when needed, and outlive this object.
  IdleChecks(loop::Loop& loop, const config::ProgramSettings& settings, Events events);

  // A worker has come to rest.
  void plan();
  // The worker is at rest, and its comparison begins now.
  void begun(std::uint64_t look_id);
  // The comparison is over, whatever its result.
  void over(std::uint64_t look_id);
  // The worker that was asked has got a request meanwhile, or cannot be compared.
  void dropped();

 private:
  struct Check {
    std::uint64_t look_id;
    unsigned behaviours;
    base::TimePoint since;
  };
  void look();
  void look_after(base::Duration pause);

  const loop::Loop& loop_;
  const config::ProgramSettings& settings_;
  const Events events_;
  policy::SelfCheck policy_;
  std::optional<Check> check_;  // the comparison under way
  bool is_due_ = false;
  loop::Timer timer_;
};

}  // namespace pool
