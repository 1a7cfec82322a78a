#include "pool/pool.h"

#include <algorithm>

#include "base/assert.h"
#include "base/log.h"
#include "cgi/environment.h"
#include "message/channel_message.h"
#include "worker/launch.h"

namespace pool {
namespace {

// After a fork failed, requests run classic for this long before the zygote is asked again.
constexpr std::chrono::milliseconds kForkPause{500};
// A worker not ready so long after its zygote was told to fork it will not come.
constexpr std::chrono::milliseconds kForkPatience{1000};
// After a zygote could not be made, the program runs classic for this long before another try.
constexpr std::chrono::seconds kColdPause{60};
constexpr std::size_t kLearnedMax = 200;
constexpr unsigned kRelearnsMax = 5;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Pool::Pool(const Surroundings& surroundings, std::string program)
    : surroundings_(surroundings),
      program_(std::move(program)),
      rest_timer_(surroundings.loop, [this] { look_whether_rested(); }),
      fork_timer_(surroundings.loop, [this] { pump_.schedule(); }),
      pump_(surroundings.loop, [this] { pump(); }) {}

Pool::~Pool() {
  for (auto& [id, place] : workers_) place.worker->forget_request();
}

// ---- what a request is about ----

void Pool::refresh(const config::ProgramSettings& settings, const router::FileIdentity& identity,
                   std::string_view environment) {
  const bool other_file = identity != identity_;
  if (settings != settings_) settings_ = settings;
  last_used_ = base::Clock::now();
  rested_ = false;
  if (settings_.mode != config::Mode::persistent) return;

  const Generation* newest = upcoming_ != nullptr ? upcoming_.get() : active_.get();
  const bool other_settings =
      newest != nullptr && !config::same_generation(settings_, newest->plan().settings);
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
                           no_fork_before_ = base::Clock::now() + kForkPause;
                           spdlog::warn("program={} cannot fork worker={}: {}; classic for now",
                                        program_, worker_id, why);
                         }});
  pump_.schedule();
}

void Pool::adopt_upcoming() {
  if (upcoming_ == nullptr || upcoming_->warmth() == Warmth::warming) return;
  retire_idle(static_cast<unsigned>(idle_.size()));
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  active_ = std::move(upcoming_);
  cold_since_ = base::Clock::now();
}

void Pool::cool_down() {
  retire_idle(static_cast<unsigned>(idle_.size()));
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  pump_.schedule();
}

bool Pool::has_zygote() const {
  return (active_ != nullptr && active_->zygote_pid() > 0) ||
         (upcoming_ != nullptr && upcoming_->zygote_pid() > 0);
}

// ---- the queue ----

void Pool::enqueue(Run& run) {
  waiting_.push_back(&run);
  pump_.schedule();
}

void Pool::leave(Run& run) {
  if (run.place_ == Run::Place::queued) std::erase(waiting_, &run);
  if (run.place_ != Run::Place::running) return;
  Place& place = workers_.at(run.worker_->id());
  place.run = nullptr;
  place.worker->forget_request();
  place.worker->terminate();
}

void Pool::give_up(Run& run) {
  std::erase(waiting_, &run);
  refuse(run, 503,
         fmt::format("no worker was free within {} ms (queue.timeout); {} were busy",
                     settings_.queue.timeout.count(), view().busy));
}

void Pool::refuse(Run& run, int status, const std::string& reason) {
  ++counts_.refused;
  run.place_ = Run::Place::over;
  run.client_->on_refused({status, reason});
}

// ---- the pump ----

void Pool::pump() {
  for (const std::uint64_t id : gone_) workers_.erase(id);
  gone_.clear();
  outgoing_.clear();
  adopt_upcoming();
  outgoing_.clear();
  const unsigned at_once = view().busy + static_cast<unsigned>(waiting_.size());
  recent_peak_ = std::max(recent_peak_, std::min(at_once, settings_.workers.max));
  serve_waiting();
  if (learned_more_ && upcoming_ == nullptr && active_ != nullptr && relearned_ < kRelearnsMax) {
    ++relearned_;
    start_generation();
  }
  carry_out(plan(view()));
  watch_forks();
  check_invariants();
}

void Pool::serve_waiting() {
  while (!waiting_.empty() && has_room(view())) {
    Run& run = *waiting_.front();
    // Taken out first: serving it may end it, and ending it may end others.
    waiting_.pop_front();
    if (serve(run)) continue;
    waiting_.push_front(&run);
    break;
  }
  // The queue's limit counts those that have to wait, not those that came in one turn.
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

// False: run has to wait for a fork that is under way.
bool Pool::serve(Run& run) {
  const bool warm = settings_.mode == config::Mode::persistent && active_ != nullptr &&
                    active_->warmth() == Warmth::warm;
  if (!warm) {
    start_classic(run);
    return true;
  }
  while (!idle_.empty()) {
    worker::Worker& worker = *idle_.back();
    idle_.pop_back();
    if (serve_warm(run, worker)) return true;
    if (run.place_ != Run::Place::queued) return true;
  }
  if (view().starting > 0 || base::Clock::now() >= no_fork_before_) return false;
  start_classic(run);
  return true;
}

// False: the worker was of no use.
bool Pool::serve_warm(Run& run, worker::Worker& worker) {
  const auto fds = run.client_->descriptors();
  if (!fds) {
    idle_.push_back(&worker);
    refuse(run, 502, fds.error().message);
    return true;
  }
  const worker::Executable& executable = active_->plan().executable;
  std::vector<std::string> argv = executable.argv;
  argv.insert(argv.end(), run.job_.query_words.begin(), run.job_.query_words.end());
  const std::string cwd = folder_of(program_);
  const message::EncodedRequest request =
      message::encode_request(worker.id(), {.cwd = cwd,
                                            .argv = argv,
                                            .environment = run.job_.environment,
                                            .environment_count = run.job_.environment_count});
  const std::uint64_t id = worker.id();
  const auto assigned =
      worker.assign(request, fds.value(), [this, id](const auto& ending) { on_ended(id, ending); });
  if (!assigned) {
    spdlog::warn("program={} worker={}: {}; another takes the request", program_, id,
                 assigned.error().message);
    return false;
  }
  started(run, worker, config::Mode::persistent);
  return true;
}

void Pool::start_classic(Run& run) {
  const auto fds = run.client_->descriptors();
  if (!fds) return refuse(run, 502, fds.error().message);
  std::vector<std::string> argv{program_};
  argv.insert(argv.end(), run.job_.query_words.begin(), run.job_.query_words.end());
  const std::string cwd = folder_of(program_);
  const auto pid = worker::launch({.file = program_,
                                   .argv = argv,
                                   .environment = run.job_.environment,
                                   .environment_count = run.job_.environment_count,
                                   .cwd = cwd,
                                   .stdin_fd = fds.value()[0],
                                   .stdout_fd = fds.value()[1],
                                   .stderr_fd = fds.value()[2]});
  if (!pid) return refuse(run, 502, pid.error().message);
  worker::Worker& worker = add_worker(0);
  const std::uint64_t id = worker.id();
  worker.adopt(pid.value(), [this, id](const auto& ending) { on_ended(id, ending); });
  started(run, worker, config::Mode::classic);
}

void Pool::started(Run& run, worker::Worker& worker, config::Mode mode) {
  run.place_ = Run::Place::running;
  run.worker_ = &worker;
  run.started_at_ = base::Clock::now();
  run.queue_timer_.reset();
  workers_.at(worker.id()).run = &run;
  ++counts_.requests;
  ++(mode == config::Mode::classic ? counts_.classic : counts_.persistent);
  run.client_->on_started(mode);
}

void Pool::on_ended(std::uint64_t worker_id, const worker::Ending& ending) {
  Run* run = workers_.at(worker_id).run;
  workers_.at(worker_id).run = nullptr;
  if (ending.app_status != 0) ++counts_.failed;
  pump_.schedule();
  if (run == nullptr) return;
  run->place_ = Run::Place::over;
  run->worker_ = nullptr;
  run->client_->on_ended(ending);
}

// ---- workers ----

void Pool::carry_out(const PoolPlan& plan) {
  if (active_ == nullptr || active_->warmth() != Warmth::warm) return;
  // A program switched to classic stays warm until it has rested: it may be switched back.
  const bool may_fork =
      settings_.mode == config::Mode::persistent && base::Clock::now() >= no_fork_before_;
  for (unsigned i = 0; i < plan.fork && may_fork; ++i) fork_one();
  retire_idle(plan.retire);
  if (!rested_) rest_timer_.start(settings_.workers.idle_timeout);
}

// A zygote that takes too long over a fork (it is stopped, or swapped out) holds no request: it is
// replaced, and what waits runs classic meanwhile.
void Pool::watch_forks() {
  if (waiting_.empty() || active_ == nullptr || active_->warmth() != Warmth::warm) return;
  const base::TimePoint now = base::Clock::now();
  for (const auto& [id, place] : workers_) {
    if (place.worker->state() != worker::WorkerState::starting) continue;
    if (place.generation != active_->plan().number || now - place.added < kForkPatience) continue;
    active_->replace_zygote(
        fmt::format("no worker {} ms after a fork was asked for", kForkPatience.count()));
    return pump_.schedule();
  }
  fork_timer_.start(kForkPatience / 2);
}

void Pool::fork_one() {
  auto channel = worker::make_channel();
  if (!channel) {
    no_fork_before_ = base::Clock::now() + kForkPause;
    spdlog::warn("program={} cannot fork a worker: {}; classic for now", program_,
                 channel.error().message);
    return;
  }
  worker::Worker& worker = add_worker(active_->plan().number);
  worker.await_fork(std::move(channel.value().first));
  // A zygote that does not take it is dying; the worker's channel breaks, and it is lost.
  (void)active_->fork_worker(worker.id(), std::move(channel.value().second));
}

worker::Worker& Pool::add_worker(std::uint64_t generation) {
  const std::uint64_t id = next_worker_id_++;
  auto worker = std::make_unique<worker::Worker>(
      surroundings_.loop, surroundings_.reaper, id, "program=" + program_,
      settings_.timeouts.kill_grace,
      worker::Worker::Events{[this, generation](worker::Worker& ready) {
                               pump_.schedule();
                               if (active_ == nullptr || active_->plan().number != generation)
                                 return ready.retire();
                               active_->count_ready_worker();
                               idle_.push_back(&ready);
                             },
                             [this](worker::Worker& gone) { on_worker_gone(gone); },
                             [this](const message::Received& note) { on_note(note); }});
  Place& place = workers_[id];
  place.worker = std::move(worker);
  place.generation = generation;
  return *place.worker;
}

void Pool::on_worker_gone(worker::Worker& worker) {
  std::erase(idle_, &worker);
  const Place& place = workers_.at(worker.id());
  if (worker.pid() <= 0 && active_ != nullptr && place.generation == active_->plan().number) {
    active_->count_lost_worker();
  }
  gone_.push_back(worker.id());
  pump_.schedule();
}

void Pool::retire_idle(unsigned count) {
  for (; count > 0 && !idle_.empty(); --count) {
    worker::Worker* oldest = idle_.front();
    idle_.erase(idle_.begin());
    oldest->retire();
  }
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
  if (!quiet() && view().busy > 0) return rest_timer_.start(settings_.workers.idle_timeout);
  if (rest < settings_.workers.idle_timeout) {
    return rest_timer_.start(std::chrono::duration_cast<base::Duration>(
        settings_.workers.idle_timeout - rest + std::chrono::milliseconds(1)));
  }
  rested_ = true;
  recent_peak_ = 0;
  pump_.schedule();
}

}  // namespace pool
