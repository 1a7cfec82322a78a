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

// One that could be compared now.
struct IdleWorker {
  std::uint64_t worker_id;
  policy::RestingWorker resting;
};

// What IdleChecks asks its owner. Both run on the loop.
class IdleChecksOwner {
 public:
  virtual std::vector<IdleWorker> resting() const = 0;
  // Asks this worker whether it is at rest; returns the id of the look that follows. 0: it cannot
  // be asked.
  virtual std::uint64_t ask_whether_at_rest(std::uint64_t worker_id) = 0;

 protected:
  ~IdleChecksOwner() = default;
};

// Decides when to compare which worker, one at a time, within rewind.verify_cpu. The worker stays
// idle meanwhile: a request that comes to it ends the comparison, and what was found until then is
// ignored. So nobody ever waits for a comparison. Owned by the workers.
class IdleChecks {
 public:
  // All of these outlive it; settings are read when needed. idle_cores: how many processors are
  // unused now.
  IdleChecks(loop::Loop& loop, const config::ProgramSettings& settings,
             const std::function<unsigned()>& idle_cores, IdleChecksOwner& owner);

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
  const std::function<unsigned()>& idle_cores_;
  IdleChecksOwner& owner_;
  policy::SelfCheck policy_;
  std::optional<Check> check_;  // the comparison under way
  bool is_due_ = false;
  loop::Timer timer_;
};

}  // namespace pool
