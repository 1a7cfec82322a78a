#include "pool/pool.h"

#include <algorithm>
#include <csignal>

#include "base/log.h"
#include "cgi/environment.h"

namespace pool {

using policy::PoolView;

namespace {

// How often it is looked whether something takes too long, while requests wait.
constexpr std::chrono::milliseconds kWatchInterval{500};

// How often it is looked whether workers have grown too old or too large.
constexpr std::chrono::milliseconds kCareInterval{1000};

// After a program could not be made warm it runs classic for so long before another try; after the
// next one for twice as long, and so on.
constexpr std::chrono::seconds kColdPause{60};
constexpr std::chrono::minutes kColdPauseMost{32};

// A request that so many workers were given and none began runs classic.
constexpr unsigned kStartsMax = 3;

}  // namespace

Pool::Pool(const Surroundings& surroundings, std::string program)
    : surroundings_(surroundings),
      program_(std::move(program)),
      learner_(program_),
      workers_(surroundings, program_, settings_,
               WorkersEvents{[this] { pump_.schedule(); },
                             [this](Run& run, const auto& ending) { return on_ended(run, ending); },
                             [this](Run& run) { on_unbegun(run); },
                             [this](const message::Received& note) { on_note(note); },
                             [this](const auto& path) { counts_.warm.note_executed(path); },
                             [this](const auto& difference) { on_difference(difference); }}),
      retry_(kColdPause, kColdPauseMost),
      demotion_backoff_(kColdPause, kColdPauseMost),
      rest_timer_(surroundings.loop, [this] { look_whether_rested(); }),
      fork_timer_(surroundings.loop, [this] { pump_.schedule(); }),
      calm_timer_(surroundings.loop, [this] { start_when_calm(); }),
      care_timer_(surroundings.loop, [this] { look_after_workers(); }),
      pump_(surroundings.loop, [this] { pump(); }),
      claim_(*surroundings.shares, [this] { pump_.schedule(); }) {}

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
    if (waiting_.empty()) claim_.stop_waiting();
  }
  if (run.place_ == Run::Place::running) workers_.abandon(run);
}

void Pool::give_up(Run& run) {
  std::erase(waiting_, &run);
  ++counts_.refused_late;
  const PoolView now = view();
  const policy::Shares& shares = *surroundings_.shares;
  std::string why = fmt::format("no worker was free within {} ms (queue.timeout); {} were busy",
                                settings_.queue.timeout.count(), now.busy + now.classic);
  if (claim_.waiting()) {
    why += fmt::format(", {} of all programs together (bridge.workers_max is {})", shares.running(),
                       shares.limit());
  }
  if (waiting_.empty()) claim_.stop_waiting();
  refuse(run, 503, why);
}

void Pool::refuse(Run& run, int status, const std::string& reason) {
  if (run.job_.for_whom == ForWhom::client) ++counts_.refused;
  run.place_ = Run::Place::over;
  run.queue_timer_.reset();
  run.client_->on_refused({status, reason});
}

// ---- the pump ----

void Pool::pump() {
  workers_.sweep();
  outgoing_.clear();
  adopt_upcoming();
  outgoing_.clear();
  note_warmth();
  for (Run* run : waiting_) (void)suits(*run);
  const unsigned at_once = view().busy + waiting_for_workers();
  const base::TimePoint time = surroundings_.loop.now();
  recent_peak_.note(std::min(at_once, settings_.workers.max), time, settings_.workers.idle_timeout);
  serve_clients();
  if (waiting_.empty()) claim_.stop_waiting();
  limit_queue();
  serve_shadows();
  // Not before a request has named all that it loaded.
  const bool may_learn =
      upcoming_ == nullptr && active_ != nullptr && !workers_.any_names_modules();
  if (may_learn && learner_.wants_generation()) {
    learner_.count_generation();
    start_generation();
  }
  demote_if_due();
  PoolView now = view();
  now.long_idle = workers_.idle_since_before(time - settings_.workers.idle_timeout);
  if (now.making == worker::Making::ahead) now.idle_cores = surroundings_.idle_cores();
  update_claim(now);
  carry_out(policy::plan(now));
  watch_forks();
  check_invariants();
}

// In the order in which they came; those that are to run classic do not wait for a worker that one
// before them waits for.
void Pool::serve_clients() {
  std::size_t passed_over = 0;
  std::size_t due = 0;  // of them, who wait for workers that are on their way
  while (passed_over < waiting_.size() && may_run_one_more()) {
    Run& run = *waiting_[passed_over];
    if (due > 0 && wants_worker(run) && may_wait(due)) {
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

// Its own limit is asked first: who may run no more for that waits for no place of others.
bool Pool::may_run_one_more() {
  const PoolView now = view();
  update_claim(now);
  if (policy::has_room(now)) return claim_.admitted();
  claim_.stop_waiting();
  return false;
}

void Pool::update_claim(const PoolView& now) {
  claim_.update(now.busy + now.classic, now.idle + now.starting + now.returning + now.beside);
}

// The queue's limit counts those that have to wait, not those that came in one turn.
void Pool::limit_queue() {
  while (waiting_.size() > settings_.queue.max) {
    Run& run = *waiting_.back();
    waiting_.pop_back();
    ++counts_.refused_full;
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
    if (refuse_late(run)) continue;
    if (run.job_.side == compare::Side::classic) {
      start_classic(run, Cold::chosen);
    } else if (!warm() || run.starts_ >= kStartsMax || !suits(run)) {
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

bool Pool::wants_worker(const Run& run) {
  return run.job_.side == compare::Side::persistent && run.suits_;
}

unsigned Pool::waiting_for_workers() const {
  return static_cast<unsigned>(
      std::ranges::count_if(waiting_, [](const Run* run) { return wants_worker(*run); }));
}

// False: run has to wait for a worker that is on its way. before: how many do already.
bool Pool::serve(Run& run, std::size_t before) {
  if (refuse_late(run)) return true;
  if (run.job_.side == compare::Side::classic) {
    start_classic(run, Cold::chosen);
  } else if (!warm()) {
    start_classic(run, Cold::not_warm);
  } else if (run.starts_ >= kStartsMax) {
    start_classic(run, Cold::no_worker);
  } else if (!suits(run)) {
    if (run.job_.for_whom == ForWhom::client) ++counts_.misfits;
    start_classic(run, Cold::misfit);
  } else if (!serve_warm(run)) {
    if (may_wait(before)) return false;
    start_classic(run, Cold::no_worker);
  }
  return true;
}

// Whether one more may wait for a worker that is on its way. Where the queue is full it may not,
// and runs classic: it has a place.
bool Pool::may_wait(std::size_t before) const {
  return before < settings_.queue.max && workers_.worth_waiting(before);
}

// What its path led to was looked at when it came. If it had to wait, that may be other than now.
bool Pool::refuse_late(Run& run) {
  const bool has_waited = run.queue_timer_ != nullptr || run.job_.for_whom == ForWhom::shadow;
  if (!has_waited || surroundings_.judge == nullptr) return false;
  const auto refusal = surroundings_.judge(program_);
  if (refusal) refuse(run, refusal->status, refusal->reason);
  return refusal.has_value();
}

// False: no worker took it.
bool Pool::serve_warm(Run& run) {
  if (!workers_.has_idle()) return false;
  if (const auto refusal = surroundings_.identities.why_no_longer(settings_, program_)) {
    refuse(run, refusal->status, refusal->reason);
    return true;
  }
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

void Pool::start_classic(Run& run, Cold why) {
  run.cold_ = why;
  const auto terms = surroundings_.identities.terms_for(settings_, program_);
  if (!terms) return refuse(run, terms.refusal().status, terms.refusal().reason);
  const auto fds = run.client_->descriptors();
  if (!fds) return refuse(run, 502, fds.error().message);
  const auto launched = workers_.launch(run, launched_file_, fds.value(), terms.value());
  if (!launched) return refuse(run, 502, launched.error().message);
  started(run);
}

void Pool::started(Run& run) {
  run.place_ = Run::Place::running;
  run.started_at_ = surroundings_.loop.now();
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

worker::Printed Pool::on_ended(Run& run, const worker::Ending& ending) {
  if (run.job_.for_whom == ForWhom::client) {
    counts_.warm.count(run.cold_);
    if (ending.app_status != 0) ++counts_.failed;
  }
  if (!ending.description.empty()) {
    if (ending.app_status == 128 + SIGXCPU) ++counts_.over_cpu_time;
    if (ending.app_status == 128 + SIGXFSZ) ++counts_.over_file_size;
  }
  run.place_ = Run::Place::over;
  run.worker_ = nullptr;
  // The kernel says it by a signal that may have come from anybody.
  const std::string why = ending.app_status == 128 + SIGKILL
                              ? surroundings_.cgroups.why_killed(program_)
                              : std::string();
  if (why.empty()) return run.client_->on_ended(ending);
  worker::Ending explained = ending;
  explained.description += ": " + why;
  return run.client_->on_ended(explained);
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

void Pool::carry_out(const policy::PoolPlan& plan) {
  claim_.lack(0);
  if (!warm()) return;
  // A program switched to classic stays warm until it has rested: it may be switched back.
  const bool may_fork = settings_.mode != config::Mode::classic || waiting_for_workers() > 0 ||
                        warmth_wanted_ == last_used_;
  // Requests that are admitted get workers; the others are made as far as there is room.
  const policy::Shares& shares = *surroundings_.shares;
  const PoolView now = view();
  unsigned needed = 0;
  if (shares.limit() > 0 && now.waiting > 0 && policy::has_room(now) && claim_.admitted()) {
    const unsigned there = now.idle + now.starting + now.returning;
    const unsigned wanted = std::min(now.waiting, shares.limit() - shares.running());
    needed = wanted - std::min(wanted, there);
  }
  const unsigned fork = std::min(plan.fork, std::max(needed, shares.room()));
  if (may_fork) claim_.lack(plan.fork - fork);
  for (unsigned i = 0; i < fork && may_fork && workers_.may_fork(); ++i) workers_.fork_one();
  if (fork > 0 && may_fork && !workers_.may_fork()) fork_timer_.start(kWatchInterval);
  workers_.retire_idle(std::max(plan.retire, claim_.to_yield()));
  if (!care_is_due_ && workers_.cares()) {
    care_is_due_ = true;
    care_timer_.start(kCareInterval);
  }
  if (!rested_) rest_timer_.start(settings_.workers.idle_timeout);
}

void Pool::look_after_workers() {
  care_is_due_ = false;
  workers_.care();
  pump_.schedule();
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

// No pump for workers.idle_timeout: workers may have been idle for so long, beside one that runs.
void Pool::look_whether_rested() {
  const auto rest = surroundings_.loop.now() - last_used_;
  if (!runs_any() && rest < settings_.workers.idle_timeout) {
    return rest_timer_.start(std::chrono::duration_cast<base::Duration>(
        settings_.workers.idle_timeout - rest + std::chrono::milliseconds(1)));
  }
  rested_ = !runs_any();
  if (rested_) recent_peak_.forget();
  pump_.schedule();
}

}  // namespace pool
