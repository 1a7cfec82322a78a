#include "pool/pool.h"

#include <algorithm>

#include "base/log.h"
#include "cgi/environment.h"

namespace pool {
namespace {

// After a zygote could not be made, the program runs classic for this long before another try.
constexpr std::chrono::seconds kColdPause{60};
// How often it is looked whether something takes too long, while requests wait.
constexpr std::chrono::milliseconds kWatchInterval{500};
constexpr std::size_t kLearnedMax = 200;
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
      pump_(surroundings.loop, [this] { pump(); }) {}

Pool::~Pool() = default;

// ---- what a request is about ----

void Pool::refresh(const config::ProgramSettings& settings, const router::FileIdentity& identity,
                   std::string_view environment, compare::Side side) {
  const bool other_file = identity != identity_;
  if (settings != settings_) settings_ = settings;
  last_used_ = base::Clock::now();
  rested_ = false;
  if (settings_.mode == config::Mode::classic && side == compare::Side::classic) return;
  warmth_wanted_ = last_used_;

  const Generation* newest = upcoming_ != nullptr ? upcoming_.get() : active_.get();
  const bool other_settings = newest != nullptr && newest->plan().settings != settings_ &&
                              !config::same_generation(settings_, newest->plan().settings);
  bool stale = newest == nullptr || other_file || other_settings;
  if (active_ != nullptr && active_->warmth() == Warmth::cold &&
      active_->plan().executable.cold_reason.empty() &&
      base::Clock::now() > cold_since_ + kColdPause) {
    stale = true;
  }
  const std::string changed = active_ == nullptr ? "" : active_->changed_file(last_used_);
  if (!changed.empty()) {
    spdlog::info("program={}: {} has changed: a new generation", program_, changed);
    stale = true;
  }
  if (!stale) return;
  if (other_file) {
    identity_ = identity;
    learned_.clear();
    relearned_ = 0;
  }
  demotion_.clear();
  // The old version of a file, or an environment that was wrong, must not answer once more.
  if (!other_settings || other_file) cool_down();
  constants_ = constant_variables(environment);
  start_generation();
}

void Pool::start_generation() {
  GenerationPlan plan{.number = ++generations_,
                      .program = program_,
                      .executable = {},
                      .settings = settings_,
                      .demotion = demotion_,
                      .constants = constants_,
                      .learned = {learned_.begin(), learned_.end()}};
  const auto path = settings_.env.find("PATH");
  plan.executable = worker::inspect(
      program_, path == settings_.env.end() ? cgi::kDefaultPath : std::string_view(path->second));
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  learned_more_ = false;
  cold_since_ = base::Clock::now();
  upcoming_ = std::make_unique<Generation>(
      surroundings_, std::move(plan),
      Generation::Events{[this] { pump_.schedule(); },
                         [this](std::uint64_t worker_id, const std::string& why) {
                           workers_.pause_forks();
                           spdlog::warn("program={} cannot fork worker={}: {}; classic for now",
                                        program_, worker_id, why);
                         },
                         [this](std::uint64_t worker_id, const std::string& difference) {
                           workers_.verified(worker_id, difference);
                         }});
  pump_.schedule();
}

void Pool::adopt_upcoming() {
  if (upcoming_ == nullptr || upcoming_->warmth() == Warmth::warming) return;
  workers_.serve(upcoming_.get());
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  active_ = std::move(upcoming_);
  cold_since_ = base::Clock::now();
}

void Pool::cool_down() {
  workers_.serve(nullptr);
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  pump_.schedule();
}

std::optional<compare::Arm> Pool::warm_arm() const {
  if (!warm()) return std::nullopt;
  return workers_.arm();
}

bool Pool::has_zygote() const {
  return (active_ != nullptr && active_->zygote_pid() > 0) ||
         (upcoming_ != nullptr && upcoming_->zygote_pid() > 0);
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
  carry_out(plan(view()));
  watch_forks();
  check_invariants();
}

// In the order in which they came; those that are to run classic do not wait for a worker that one
// before them waits for.
void Pool::serve_clients() {
  std::size_t passed_over = 0;
  bool workers_are_due = false;
  while (passed_over < waiting_.size() && has_room(view())) {
    Run& run = *waiting_[passed_over];
    if (workers_are_due && run.job_.side == compare::Side::persistent) {
      ++passed_over;
      continue;
    }
    // Taken out first: serving it may end it, and ending it may end others.
    const auto place = waiting_.begin() + static_cast<std::ptrdiff_t>(passed_over);
    waiting_.erase(place);
    if (serve(run)) continue;
    waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(passed_over), &run);
    workers_are_due = true;
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
      if (!workers_.worth_waiting()) {
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

// False: run has to wait for a worker that is on its way.
bool Pool::serve(Run& run) {
  if (run.job_.side == compare::Side::classic || !warm() || run.starts_ >= kStartsMax) {
    start_classic(run);
    return true;
  }
  if (serve_warm(run)) return true;
  if (workers_.worth_waiting()) return false;
  start_classic(run);
  return true;
}

// False: no worker took it.
bool Pool::serve_warm(Run& run) {
  if (!workers_.has_idle()) return false;
  const auto fds = run.client_->descriptors();
  if (!fds) {
    refuse(run, 502, fds.error().message);
    return true;
  }
  if (!workers_.give(run, fds.value())) return false;
  started(run);
  return true;
}

void Pool::start_classic(Run& run) {
  const auto fds = run.client_->descriptors();
  if (!fds) return refuse(run, 502, fds.error().message);
  const auto launched = workers_.launch(run, fds.value());
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
void Pool::demote_if_due() {
  if (!demotion_.empty() || !warm() || active_->reset() != config::Reset::rewind) return;
  if (!workers_.retirements().more_than(settings_.rewind.max_retired)) return;
  demotion_ = workers_.retirements().describe();
  spdlog::warn(
      "program={} gen={}: {}; it gets reset = fork from here on (rewind.max_retired is {})",
      program_, active_->plan().number, demotion_, settings_.rewind.max_retired);
  start_generation();
}

void Pool::on_note(const message::Received& note) {
  if (note.note_kind == NOTE_WARNING) {
    spdlog::warn("program={} {}", program_, base::printable(note.text, 300));
  }
  if (note.note_kind == NOTE_SHALLOWER && active_ != nullptr) {
    active_->demote(base::printable(note.text, 300));
  }
  if (note.note_kind != NOTE_LOADED || learned_.size() >= kLearnedMax) return;
  // It goes into a command line, in a list that commas part.
  const bool sound = !note.text.empty() && note.text.size() < 200 &&
                     note.text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyz"
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/") == std::string::npos;
  if (sound && learned_.insert(note.text).second) {
    learned_more_ = true;
    pump_.schedule();
  }
}

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
