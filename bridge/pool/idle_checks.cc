#include "pool/idle_checks.h"

#include <algorithm>
#include <utility>

namespace pool {
namespace {

// How soon to check again whether a core is free.
constexpr std::chrono::milliseconds kBusyPause{250};
// A comparison that takes longer is given up: its zygote is in other trouble.
constexpr std::chrono::seconds kGiveUp{10};
constexpr double kLeastPerCent = 0.01;

}  // namespace

IdleChecks::IdleChecks(loop::Loop& loop, const config::ProgramSettings& settings,
                       const std::function<unsigned()>& idle_cores, IdleChecksOwner& owner)
    : loop_(loop),
      settings_(settings),
      idle_cores_(idle_cores),
      owner_(owner),
      timer_(loop, [this] { look(); }) {}

void IdleChecks::plan() {
  if (settings_.rewind.verify_cpu > 0) look_after(policy_.wait(loop_.now()));
}

void IdleChecks::look_after(base::Duration pause) {
  if (std::exchange(is_due_, true)) return;
  timer_.start(pause);
}

void IdleChecks::look() {
  is_due_ = false;
  const base::TimePoint now = loop_.now();
  if (settings_.rewind.verify_cpu <= 0) return;
  if (check_ && now - check_->since < kGiveUp) return;  // its end plans the next comparison
  check_.reset();
  const std::vector<IdleWorker> candidates = owner_.resting();
  std::vector<policy::RestingWorker> resting;
  for (const IdleWorker& candidate : candidates) resting.push_back(candidate.resting);
  const auto waits = [](const policy::RestingWorker& worker) { return worker.behaviours != 0; };
  if (std::none_of(resting.begin(), resting.end(), waits)) return;
  // An operator who allows a whole core for this does not want to wait for a free one.
  const bool waits_for_core = settings_.rewind.verify_cpu < 100;
  if (waits_for_core && idle_cores_() == 0) return look_after(kBusyPause);
  const auto chosen = policy_.choose(resting, now);
  if (!chosen) return plan();
  const std::uint64_t look_id = owner_.ask_whether_at_rest(candidates[*chosen].worker_id);
  if (look_id == 0) return plan();
  check_ = {look_id, resting[*chosen].behaviours, now};
}

void IdleChecks::begun(std::uint64_t look_id) {
  if (check_ && check_->look_id == look_id) check_->since = loop_.now();
}

void IdleChecks::over(std::uint64_t look_id) {
  if (!check_ || check_->look_id != look_id) return;
  const base::TimePoint now = loop_.now();
  policy_.compared(check_->behaviours, now,
                   std::chrono::duration_cast<std::chrono::microseconds>(now - check_->since),
                   std::max(settings_.rewind.verify_cpu, kLeastPerCent));
  dropped();
}

void IdleChecks::dropped() {
  check_.reset();
  plan();
}

}  // namespace pool
