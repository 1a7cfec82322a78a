// What a pool and its workers report about themselves: to plan(), to `status`, to their own checks,
// and to those that look after them.
#include <algorithm>

#include "base/assert.h"
#include "pool/pool.h"

namespace pool {

using policy::PoolView;
using worker::WorkerState;

PoolView Pool::view() const {
  PoolView view{.waiting = queue_.waiting_for_workers(),
                .recent_peak = recent_peak_.value(),
                .min = settings_.workers.min,
                .max = settings_.workers.max,
                .spare = settings_.workers.spare,
                .rested = rested_};
  workers_.count(view);
  return view;
}

PoolStatus Pool::status() const {
  PoolStatus status = counts_;
  const PoolView now = view();
  status.program = subject_.title;
  status.home = subject_.home;
  status.name = settings_.name;
  status.mode = settings_.mode;
  status.reset_asked = settings_.reset;
  status.reset = settings_.reset;
  status.idle = now.idle;
  status.busy = now.running();
  status.starting = now.starting;
  status.returning = now.returning;
  status.waiting = queue_.clients().size();
  status.waits_for_place = claim_.waiting();
  status.worker_pids = workers_.pids();
  std::sort(status.worker_pids.begin(), status.worker_pids.end());
  status.worker_list = workers_.list();
  status.retirements = &workers_.retirements();
  status.rewinds = &workers_.rewinds();
  status.sandbox = surroundings_.identities.sandbox_of(subject_.home);
  status.cgroup = surroundings_.cgroups.figures(subject_.home);
  generations_.describe(status);
  return status;
}

void Pool::check_invariants() const {
  workers_.check_invariants();
  queue_.check_invariants();
}

// ---- its workers ----

namespace {

void count_busy(const Place& place, PoolView& view) {
  const bool beside = place.turn != nullptr && !place.turn->is_for_client();
  if (place.arm != compare::Arm::classic) {
    ++(beside ? view.beside : view.busy);
  } else if (!beside) {
    ++view.classic;
  }
}

}  // namespace

void Workers::count(PoolView& view) const {
  const bool warm = generation_ != nullptr && generation_->warmth() == Warmth::warm;
  if (warm && generation_->reset() != config::Reset::fork) {
    view.afterwards = policy::Afterwards::returns;
  }
  if (warm) view.making = generation_->making();
  for (const auto& [id, place] : places_) {
    const WorkerState state = place.worker->state();
    if (state == WorkerState::idle) ++view.idle;
    if (state == WorkerState::starting && is_of_serving_generation(place)) ++view.starting;
    if (state == WorkerState::busy && !place.worker->terminating()) count_busy(place, view);
    if (worker::is_returning(state)) ++view.returning;
  }
}

// The workers that became idle first come first.
unsigned Workers::idle_since_before(base::TimePoint time) const {
  unsigned count = 0;
  for (const worker::Worker* worker : idle_) {
    if (worker->idle_since() > time) break;
    count += worker->state() == WorkerState::idle ? 1 : 0;
  }
  return count;
}

std::vector<WorkerStatus> Workers::list() const {
  std::vector<WorkerStatus> list;
  const base::TimePoint now = surroundings_.loop.now();
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

bool Workers::worth_waiting(std::size_t before) const {
  const base::TimePoint now = surroundings_.loop.now();
  const bool ahead = generation_ != nullptr && generation_->making() == worker::Making::ahead;
  bool late = false;
  std::size_t coming = 0;
  for (const auto& [id, place] : places_) {
    const WorkerState state = place.worker->state();
    // It will be free sooner than a new interpreter would be ready.
    if (ahead && state == WorkerState::busy && place.arm == compare::Arm::none) return true;
    if (!worker::is_returning(state) && state != WorkerState::starting) continue;
    // A program that speaks FastCGI may know no other way: its requests wait as long as it may take
    // to start.
    const auto patience = place.by_fastcgi != nullptr ? settings_.timeouts.start : kPatience;
    const bool in_time = now - place.since < patience;
    coming += in_time ? 1 : 0;
    late = late || !in_time;
  }
  if (ahead) return coming > before;
  return coming > 0 || (!late && may_fork());
}

bool Workers::needs_care() const {
  const auto& limits = settings_.workers;
  return !places_.empty() && (limits.max_age.count() > 0 || limits.max_memory > 0);
}

void Workers::care() {
  for (auto& [id, place] : places_) {
    if (exits_after_request(place.arm) || !serves(place)) continue;
    look_at_memory(place, settings_.workers);
    if (place.worker->state() != WorkerState::idle) continue;
    const auto replacement = replacement_of(place, settings_.workers, surroundings_.loop.now());
    if (!replacement) continue;
    count_retired(*place.worker, place, replacement->retirement, replacement->why);
    std::erase(idle_, place.worker.get());
    place.worker->retire();
  }
}

void Workers::check_invariants() const {
  for (const worker::Worker* worker : idle_) {
    const WorkerState state = worker->state();
    // A worker that speaks FastCGI may have closed its connection meanwhile.
    BRIDGE_ASSERT(state == WorkerState::idle || state == WorkerState::ending ||
                  state == WorkerState::resetting);
  }
}

}  // namespace pool
