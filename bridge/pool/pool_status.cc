// What a pool shows of itself: to plan(), to `status`, to its own checks.
#include "base/assert.h"
#include "pool/pool.h"

namespace pool {

PoolView Pool::view() const {
  PoolView view{.idle = static_cast<unsigned>(idle_.size()),
                .waiting = static_cast<unsigned>(waiting_.size()),
                .recent_peak = recent_peak_,
                .min = settings_.workers.min,
                .max = settings_.workers.max,
                .spare = settings_.workers.spare,
                .rested = rested_};
  for (const auto& [id, place] : workers_) {
    const worker::WorkerState state = place.worker->state();
    const bool current = active_ != nullptr && place.generation == active_->plan().number;
    if (state == worker::WorkerState::starting && current) ++view.starting;
    if (state == worker::WorkerState::busy && !place.worker->terminating()) ++view.busy;
  }
  return view;
}

PoolStatus Pool::status() const {
  PoolStatus status = counts_;
  const PoolView now = view();
  status.program = program_;
  status.name = settings_.name;
  status.mode = settings_.mode;
  status.reset = settings_.reset;
  status.idle = now.idle;
  status.busy = now.busy;
  status.starting = now.starting;
  status.waiting = waiting_.size();
  status.learned = {learned_.begin(), learned_.end()};
  for (const auto& [id, place] : workers_) {
    if (place.worker->pid() > 0) status.worker_pids.push_back(place.worker->pid());
  }
  const Generation* generation = active_ != nullptr ? active_.get() : upcoming_.get();
  status.level = "none";
  if (generation == nullptr) return status;
  status.generation = generation->plan().number;
  status.level_reason = generation->level_reason();
  status.zygote_pid = generation->zygote_pid();
  if (generation->warmth() == Warmth::warming) status.level = "warming";
  if (generation->warmth() == Warmth::warm) status.level = config::to_string(generation->level());
  return status;
}

void Pool::check_invariants() const {
  for (const worker::Worker* worker : idle_) {
    BRIDGE_ASSERT(worker->state() == worker::WorkerState::idle);
  }
  for (const Run* run : waiting_) BRIDGE_ASSERT(run->place_ == Run::Place::queued);
}

}  // namespace pool
