// What a pool shows of itself: to plan(), to `status`, to its own checks.
#include <algorithm>

#include "base/assert.h"
#include "pool/pool.h"

namespace pool {

PoolView Pool::view() const {
  PoolView view{.waiting = waiting_for_workers(),
                .recent_peak = recent_peak_,
                .min = settings_.workers.min,
                .max = settings_.workers.max,
                .spare = settings_.workers.spare,
                .rested = rested_};
  workers_.count(view);
  return view;
}

bool Pool::runs_any() const {
  const PoolView now = view();
  return now.busy + now.beside + now.classic > 0;
}

PoolStatus Pool::status() const {
  PoolStatus status = counts_;
  const PoolView now = view();
  status.program = program_;
  status.name = settings_.name;
  status.mode = settings_.mode;
  status.reset_asked = settings_.reset;
  status.reset = settings_.reset;
  status.idle = now.idle;
  status.busy = now.busy + now.beside + now.classic;
  status.starting = now.starting;
  status.returning = now.returning;
  status.waiting = waiting_.size();
  status.newest_generation = generations_;
  status.learned = {learned_.begin(), learned_.end()};
  status.worker_pids = workers_.pids();
  std::sort(status.worker_pids.begin(), status.worker_pids.end());
  status.worker_list = workers_.list();
  status.retirements = &workers_.retirements();
  status.rewinds = &workers_.rewinds();
  const Generation* generation = active_ != nullptr ? active_.get() : upcoming_.get();
  status.level = "none";
  if (generation == nullptr) return status;
  status.generation = generation->plan().number;
  status.level_reason = generation->level_reason();
  status.zygote_pid = generation->zygote_pid();
  if (generation->warmth() == Warmth::warming) status.level = "warming";
  if (generation->warmth() == Warmth::warm) {
    status.level = config::to_string(generation->level());
    status.reset = generation->reset();
    status.reset_reason = generation->reset_reason();
  }
  return status;
}

void Pool::check_invariants() const {
  workers_.check_invariants();
  for (const Run* run : waiting_) BRIDGE_ASSERT(run->place_ == Run::Place::queued);
  for (const Run* run : beside_) BRIDGE_ASSERT(run->place_ == Run::Place::queued);
}

}  // namespace pool
