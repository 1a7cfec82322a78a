#include "pool/pool.h"

#include <algorithm>
#include <csignal>

#include "base/idle_cores.h"
#include "base/log.h"
#include "cgi/environment.h"

namespace pool {
namespace {

// How often it is looked whether something takes too long, while requests wait.
constexpr std::chrono::milliseconds kWatchInterval{500};
constexpr unsigned kRelearnsMax = 5;

// A request that so many workers were given and none began runs classic.
constexpr unsigned kStartsMax = 3;

}  // namespace

Pool::Pool(const Surroundings& surroundings, std::string program)
    : surroundings_(surroundings),
      program_(std::move(program)),
      workers_(surroundings, program_, settings_,
               Workers::Events{[this] { pump_.schedule(); },
                               [this](Run& run, const auto& ending) { on_ended(run, ending); },
                               [this](Run& run) { on_unbegun(run); },
                               [this](const message::Received& note) { on_note(note); }}),
      rest_timer_(surroundings.loop, [this] { look_whether_rested(); }),
      fork_timer_(surroundings.loop, [this] { pump_.schedule(); }),
      calm_timer_(surroundings.loop, [this] { start_when_calm(); }),
      pump_(surroundings.loop, [this] { pump(); }) {}

Pool::~Pool() = default;

std::optional<compare::Arm> Pool::warm_arm() const {
  if (!warm()) return std::nullopt;
  return workers_.arm();
}

std::string_view Pool::warm_level() const {
  return warm() ? active_->level() : std::string_view();
}

bool Pool::has_zygote() const {
  const auto holds = [](const auto& generation) {
    return generation != nullptr && (generation->is_up() || generation->speaks_fastcgi());
  };
  return holds(active_) || holds(upcoming_);
}

// ---- the queue ----

void Pool::enqueue(Run& run) {
  (run.job_.for_whom == ForWhom::client ? waiting_ : beside_).push_back(&run);
  pump_.schedule();
}

void Pool::leave(Run& run) {
  if (run.place_ == Run::Place::queued) {
    std::erase(waiting_, &run);
    std::erase(beside_, &run);
  }
  if (run.place_ == Run::Place::running) workers_.abandon(run);
}

void Pool::give_up(Run& run) {
  std::erase(waiting_, &run);
  refuse(run, 503,
         fmt::format("no worker was free within {} ms (queue.timeout); {} were busy",
                     settings_.queue.timeout.count(), view().busy));
}

void Pool::refuse(Run& run, int status, const std::string& reason) {
  if (run.job_.for_whom == ForWhom::client) ++counts_.refused;
  run.place_ = Run::Place::over;
  run.client_->on_refused({status, reason});
}

// ---- the pump ----

void Pool::pump() {
  workers_.sweep();
  outgoing_.clear();
  adopt_upcoming();
  outgoing_.clear();
  const unsigned at_once = view().busy + waiting_for_workers();
  recent_peak_ = std::max(recent_peak_, std::min(at_once, settings_.workers.max));
  serve_clients();
  limit_queue();
  serve_shadows();
  if (learned_more_ && upcoming_ == nullptr && active_ != nullptr && relearned_ < kRelearnsMax) {
    ++relearned_;
    start_generation();
  }
  demote_if_due();
  PoolView now = view();
  if (now.making == worker::Making::ahead) now.idle_cores = base::idle_cores();
  carry_out(plan(now));
  watch_forks();
  check_invariants();
}

// In the order in which they came; those that are to run classic do not wait for a worker that one
// before them waits for.
void Pool::serve_clients() {
  std::size_t passed_over = 0;
  std::size_t due = 0;  // of them, who wait for workers that are on their way
  while (passed_over < waiting_.size() && has_room(view())) {
    Run& run = *waiting_[passed_over];
    if (due > 0 && run.job_.side == compare::Side::persistent && workers_.worth_waiting(due)) {
      ++passed_over;
      ++due;
      continue;
    }
    // Taken out first: serving it may end it, and ending it may end others.
    const auto place = waiting_.begin() + static_cast<std::ptrdiff_t>(passed_over);
    waiting_.erase(place);
    if (serve(run, due)) continue;
    waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(passed_over), &run);
    ++due;
    ++passed_over;
  }
}

// The queue's limit counts those that have to wait, not those that came in one turn.
void Pool::limit_queue() {
  while (waiting_.size() > settings_.queue.max) {
    Run& run = *waiting_.back();
    waiting_.pop_back();
    refuse(run, 503, fmt::format("the queue is full ({}, queue.max)", settings_.queue.max));
  }
  for (Run* run : waiting_) {
    if (run->queue_timer_ != nullptr) continue;
    run->queue_timer_ =
        std::make_unique<loop::Timer>(surroundings_.loop, [this, run] { give_up(*run); });
    run->queue_timer_->start(settings_.queue.timeout);
  }
}

void Pool::serve_shadows() {
  if (waiting_for_workers() > 0) return;
  for (std::size_t left = beside_.size(); left > 0 && !beside_.empty(); --left) {
    Run& run = *beside_.front();
    beside_.pop_front();
    if (run.job_.side == compare::Side::classic) {
      start_classic(run);
    } else if (!warm() || run.starts_ >= kStartsMax) {
      refuse(run, 503, "it is not warm");
    } else if (!serve_warm(run)) {
      if (!workers_.worth_waiting(0)) {
        refuse(run, 503, "no worker is to be had");
      } else {
        beside_.push_back(&run);
      }
    }
  }
}

unsigned Pool::waiting_for_workers() const {
  return static_cast<unsigned>(std::count_if(waiting_.begin(), waiting_.end(), [](const Run* run) {
    return run->job_.side == compare::Side::persistent;
  }));
}

// False: run has to wait for a worker that is on its way. before: how many do already.
bool Pool::serve(Run& run, std::size_t before) {
  if (run.job_.side == compare::Side::classic || !warm() || run.starts_ >= kStartsMax) {
    start_classic(run);
    return true;
  }
  if (serve_warm(run)) return true;
  if (workers_.worth_waiting(before)) return false;
  start_classic(run);
  return true;
}

// False: no worker took it.
bool Pool::serve_warm(Run& run) {
  if (!workers_.has_idle()) return false;
  if (active_->speaks_fastcgi()) return serve_by_fastcgi(run);
  const auto fds = run.client_->descriptors();
  if (!fds) {
    refuse(run, 502, fds.error().message);
    return true;
  }
  if (!workers_.give(run, fds.value())) return false;
  started(run);
  return true;
}

bool Pool::serve_by_fastcgi(Run& run) {
  auto body = run.client_->body();
  if (!body) {
    refuse(run, 502, body.error().message);
    return true;
  }
  if (!workers_.give_by_fastcgi(run, body.take())) return false;
  started(run);
  return true;
}

void Pool::start_classic(Run& run) {
  const auto terms = surroundings_.identities.terms_for(settings_, program_);
  if (!terms) return refuse(run, terms.refusal().status, terms.refusal().reason);
  const auto fds = run.client_->descriptors();
  if (!fds) return refuse(run, 502, fds.error().message);
  const auto launched = workers_.launch(run, fds.value(), terms.value());
  if (!launched) return refuse(run, 502, launched.error().message);
  started(run);
}

void Pool::started(Run& run) {
  run.place_ = Run::Place::running;
  run.started_at_ = base::Clock::now();
  run.queue_timer_.reset();
  count_started(run, 1);
  if (++run.starts_ == 1) run.client_->on_started(run.arm_);
}

void Pool::count_started(const Run& run, int by) {
  if (run.job_.for_whom == ForWhom::shadow) return;
  const auto add = static_cast<std::uint64_t>(by);
  counts_.requests += add;
  (run.arm_ == compare::Arm::classic ? counts_.classic : counts_.persistent) += add;
}

void Pool::on_ended(Run& run, const worker::Ending& ending) {
  if (ending.app_status != 0 && run.job_.for_whom == ForWhom::client) ++counts_.failed;
  if (!ending.description.empty()) {
    if (ending.app_status == 128 + SIGXCPU) ++counts_.over_cpu_time;
    if (ending.app_status == 128 + SIGXFSZ) ++counts_.over_file_size;
  }
  run.place_ = Run::Place::over;
  run.worker_ = nullptr;
  run.client_->on_ended(ending);
}

// Its client knows nothing of it. It was the first of those that wait now.
void Pool::on_unbegun(Run& run) {
  run.place_ = Run::Place::queued;
  run.worker_ = nullptr;
  count_started(run, -1);
  ++counts_.given_back;
  (run.job_.for_whom == ForWhom::client ? waiting_ : beside_).push_front(&run);
}

// ---- workers ----

void Pool::carry_out(const PoolPlan& plan) {
  if (!warm()) return;
  // A program switched to classic stays warm until it has rested: it may be switched back.
  const bool may_fork = settings_.mode != config::Mode::classic || waiting_for_workers() > 0 ||
                        warmth_wanted_ == last_used_;
  for (unsigned i = 0; i < plan.fork && may_fork && workers_.may_fork(); ++i) workers_.fork_one();
  workers_.retire_idle(plan.retire);
  if (!rested_) rest_timer_.start(settings_.workers.idle_timeout);
}

// A zygote that takes too long over a fork (it is stopped, or swapped out) holds no request: it is
// replaced, and what waits runs classic meanwhile.
void Pool::watch_forks() {
  if (!warm()) return;
  const std::string overdue = workers_.end_overdue();
  if (!overdue.empty()) {
    active_->replace_zygote(overdue);
    return pump_.schedule();
  }
  if (!waiting_.empty() || !beside_.empty()) fork_timer_.start(kWatchInterval);
}

// Requests do not wait for it: the old generation serves until the new one is warm.
void Pool::look_whether_rested() {
  const auto rest = base::Clock::now() - last_used_;
  if (runs_any()) return rest_timer_.start(settings_.workers.idle_timeout);
  if (rest < settings_.workers.idle_timeout) {
    return rest_timer_.start(std::chrono::duration_cast<base::Duration>(
        settings_.workers.idle_timeout - rest + std::chrono::milliseconds(1)));
  }
  rested_ = true;
  recent_peak_ = 0;
  pump_.schedule();
}

}  // namespace pool
