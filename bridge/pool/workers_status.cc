// What a pool's workers show of themselves: to plan(), to `status`, to their own checks.
#include <algorithm>

#include "base/assert.h"
#include "pool/workers.h"

namespace pool {

using worker::WorkerState;

void Workers::count(PoolView& view) const {
  const bool warm = generation_ != nullptr && generation_->warmth() == Warmth::warm;
  if (warm && generation_->reset() != config::Reset::fork) {
    view.afterwards = Afterwards::returns;
  }
  for (const auto& [id, place] : places_) {
    const WorkerState state = place.worker->state();
    if (state == WorkerState::idle) ++view.idle;
    if (state == WorkerState::starting && is_of_serving_generation(place)) ++view.starting;
    if (state == WorkerState::busy && !place.worker->terminating()) count_busy(place, view);
    if (worker::is_returning(state)) ++view.returning;
  }
}

void Workers::count_busy(const Place& place, PoolView& view) {
  const bool beside = place.run != nullptr && place.run->job_.for_whom == ForWhom::shadow;
  if (place.arm != compare::Arm::classic) {
    ++(beside ? view.beside : view.busy);
  } else if (!beside) {
    ++view.classic;
  }
}

std::vector<WorkerStatus> Workers::list() const {
  std::vector<WorkerStatus> list;
  const base::TimePoint now = base::Clock::now();
  for (const auto& [id, place] : places_) {
    if (place.worker->pid() <= 0) continue;
    list.push_back({.pid = place.worker->pid(),
                    .state = worker::to_string(place.worker->state()),
                    .arm = place.arm,
                    .served = place.worker->served(),
                    .in_state = std::chrono::duration_cast<base::Duration>(
                        now - place.worker->state_since())});
  }
  std::sort(list.begin(), list.end(),
            [](const auto& one, const auto& other) { return one.pid < other.pid; });
  return list;
}

std::vector<pid_t> Workers::pids() const {
  std::vector<pid_t> pids;
  for (const auto& [id, place] : places_) {
    if (place.worker->pid() > 0) pids.push_back(place.worker->pid());
  }
  return pids;
}

void Workers::check_invariants() const {
  for (const worker::Worker* worker : idle_) {
    BRIDGE_ASSERT(worker->state() == WorkerState::idle || worker->state() == WorkerState::ending);
  }
}

}  // namespace pool
