#include "pool/workers.h"

#include <algorithm>

#include "base/assert.h"
#include "base/log.h"
#include "worker/launch.h"

namespace pool {
namespace {

using worker::WorkerState;

// After a fork failed, requests run classic for this long before the zygote is asked again.
constexpr std::chrono::milliseconds kForkPause{500};
// A fork, a reset or a comparison, which reads all memory of a worker, is given up after this: a
// ceiling of CPU may keep it waiting, and a machine may stand still for a moment.
constexpr std::chrono::milliseconds kGiveUp{10000};
// Workers that die before they have served anybody: some at once, and then ever later ones.
constexpr std::chrono::milliseconds kYoungDeathPause{250};
constexpr std::chrono::seconds kYoungDeathPauseMost{30};
constexpr unsigned kYoungDeathsAtOnce = 8;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Workers::Workers(const Surroundings& surroundings, const std::string& program,
                 const config::ProgramSettings& settings, Events events)
    : surroundings_(surroundings),
      program_(program),
      label_("program=" + program),
      folder_(folder_of(program)),
      settings_(settings),
      events_(std::move(events)),
      young_deaths_(kYoungDeathPause, kYoungDeathPauseMost, kYoungDeathsAtOnce) {}

Workers::~Workers() {
  for (auto& [id, place] : places_) place.worker->forget_request();
}

// ---- which serve ----

void Workers::serve(Generation* generation) {
  generation_ = generation;
  retire_idle(kAll);
  for (const auto& [id, place] : places_) {
    if (worker::is_returning(place.worker->state())) place.worker->retire();
  }
  retirements_.start_anew();
}

// A zygote that ended by itself has left workers behind: each serves out what it has.
bool Workers::serves(const Place& place) const {
  return generation_ != nullptr && generation_->zygote() == place.zygote &&
         generation_->warmth() == Warmth::warm;
}

bool Workers::is_of_serving_generation(const Place& place) const {
  return generation_ != nullptr && generation_->plan().number == place.zygote.generation;
}

worker::Worker& Workers::add(const ZygoteId& zygote, compare::Arm arm) {
  const std::uint64_t id = next_worker_id_++;
  Place& place = places_[id];
  worker::WorkerOwner& owner = *this;
  place.worker = std::make_unique<worker::Worker>(surroundings_.loop, surroundings_.reaper, id,
                                                  label_, settings_.timeouts.kill_grace, owner);
  place.zygote = zygote;
  place.arm = arm;
  return *place.worker;
}

void Workers::start_fastcgi_worker() {
  const std::uint64_t id = next_worker_id_++;
  worker::WorkerOwner& owner = *this;
  auto made = std::make_unique<upstream::FastcgiWorker>(
      surroundings_.loop, surroundings_.reaper, id, label_, settings_.timeouts.kill_grace, owner);
  upstream::FastcgiWorker& worker = *made;
  places_[id] = {.worker = std::move(made),
                 .by_fastcgi = &worker,
                 .zygote = generation_->zygote(),
                 .arm = compare::Arm::none};
  const auto& executable = generation_->plan().executable;
  const WarmEnvironment environment =
      fastcgi_environment(generation_->start_variables().launched(), executable.language);
  const auto started = worker.start({.file = executable.file,
                                     .argv = worker::fastcgi_argv(executable),
                                     .environment = environment.block,
                                     .environment_count = environment.count,
                                     .cwd = folder_,
                                     .timeout = settings_.timeouts.start,
                                     .terms = generation_->terms(),
                                     .stderr_max = settings_.limits.error_output,
                                     .cgroup = cgroup()});
  if (started) return;
  pause_forks();
  base::log_warn("program={} cannot start a worker: {}; classic for now", program_,
                 started.error().message);
  gone_.push_back(id);
  generation_->count_lost_worker(started.error().message);
}

void Workers::fork_one() {
  if (generation_->speaks_fastcgi()) return start_fastcgi_worker();
  auto channel = worker::make_channel();
  if (!channel) {
    pause_forks();
    base::log_warn("program={} cannot fork a worker: {}; classic for now", program_,
                   channel.error().message);
    return;
  }
  worker::Worker& worker = add(generation_->zygote(), arm_of(generation_->reset()));
  worker.await_fork(std::move(channel.value().first));
  // A zygote that does not take it is dying; the worker's channel breaks, and it is lost.
  (void)generation_->fork_worker(worker.id(), std::move(channel.value().second));
}

void Workers::pause_forks() {
  no_fork_before_ = base::Clock::now() + kForkPause;
}

void Workers::on_ready(worker::Worker& worker) {
  events_.on_change();
  const Place& place = places_.at(worker.id());
  if (!is_of_serving_generation(place)) return worker.retire();
  generation_->count_ready_worker();
  std::erase(idle_, &worker);  // it may have been idle before
  idle_.push_back(&worker);
}

// ---- a request ----

compare::Arm Workers::arm() const {
  return arm_of(generation_->reset());
}

bool Workers::has_idle() const {
  return std::any_of(idle_.begin(), idle_.end(),
                     [](const auto* worker) { return worker->state() == WorkerState::idle; });
}

worker::Worker& Workers::take_idle() {
  std::erase_if(idle_, [](const auto* worker) { return worker->state() != WorkerState::idle; });
  const std::size_t chosen = policy::choose(
      idle_.size(), [this](std::size_t i) { return idle_[i]->idle_since(); }, base::Clock::now(),
      rewinds_.usual_time());
  worker::Worker& worker = *idle_[chosen];
  idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(chosen));
  return worker;
}

bool Workers::give(Run& run, std::span<const int> fds) {
  const auto& identity = generation_->terms().identity;
  if (identity) limits::give_streams(*identity, fds.data(), fds.size());
  while (has_idle()) {
    if (assign(run, fds, take_idle())) return true;
  }
  return false;
}

bool Workers::give_by_fastcgi(Run& run, base::UniqueFd body) {
  const RequestVariables environment(run.job_.environment, run.job_.environment_count,
                                     generation_->plan().executable.assignments);
  while (has_idle()) {
    worker::Worker& worker = take_idle();
    const std::uint64_t id = worker.id();
    Place& place = places_.at(id);
    const auto assigned = place.by_fastcgi->assign(
        environment.block(), body, run, [this, id](const auto& ending) { on_ended(id, ending); });
    if (assigned) {
      take_place(place, run);
      return true;
    }
    base::log_warn("program={} worker={}: {}; another takes the request", program_, id,
                   assigned.error().message);
  }
  return false;
}

bool Workers::assign(Run& run, std::span<const int> fds, worker::Worker& worker) {
  const std::uint64_t id = worker.id();
  Place& place = places_.at(id);
  const std::uint64_t request_id = next_request_id_++;
  const message::SayReady say_ready = whether_to_check(place);
  const RequestVariables environment(run.job_.environment, run.job_.environment_count,
                                     generation_->plan().executable.assignments);
  const message::EncodedRequest request =
      message::encode_request(request_id, say_ready,
                              {.cwd = folder_,
                               .argv = generation_->plan().executable.argv,
                               .query_words = run.job_.query_words,
                               .environment = environment.block(),
                               .environment_count = environment.count()});
  const auto assigned = worker.assign(request_id, say_ready, request, fds,
                                      [this, id](const auto& ending) { on_ended(id, ending); });
  if (!assigned) {
    base::log_warn("program={} worker={}: {}; another takes the request", program_, id,
                   assigned.error().message);
    return false;
  }
  take_place(place, run);
  return true;
}

void Workers::take_place(Place& place, Run& run) {
  place.run = &run;
  run.worker_ = place.worker.get();
  run.arm_ = place.arm;
}

message::SayReady Workers::whether_to_check(const Place& place) {
  if (place.arm != compare::Arm::rewind || !serves(place)) return message::SayReady::no;
  const unsigned every = settings_.rewind.verify;
  if (every == 0 || ++assigned_rewinds_ % every != 0) return message::SayReady::no;
  return message::SayReady::yes;
}

base::Status Workers::launch(Run& run, std::span<const int> fds, const limits::Terms& terms) {
  const std::string& interpreter = settings_.interpreter;
  std::vector<std::string> argv{program_};
  if (!interpreter.empty()) argv.insert(argv.begin(), interpreter);
  argv.insert(argv.end(), run.job_.query_words.begin(), run.job_.query_words.end());
  const auto pid = worker::launch({.file = interpreter.empty() ? program_ : interpreter,
                                   .argv = argv,
                                   .environment = run.job_.environment,
                                   .environment_count = run.job_.environment_count,
                                   .cwd = folder_,
                                   .stdin_fd = fds[0],
                                   .stdout_fd = fds[1],
                                   .stderr_fd = fds[2],
                                   .terms = terms,
                                   .cgroup = cgroup()});
  if (!pid) return pid.error();
  worker::Worker& worker = add({}, compare::Arm::classic);
  const std::uint64_t id = worker.id();
  worker.adopt(pid.value(), [this, id](const auto& ending) { on_ended(id, ending); });
  take_place(places_.at(id), run);
  return base::Done{};
}

void Workers::abandon(Run& run) {
  Place& place = places_.at(run.worker_->id());
  place.run = nullptr;
  place.worker->forget_request();
  place.worker->terminate();
}

void Workers::on_ended(std::uint64_t worker_id, const worker::Ending& ending) {
  events_.on_change();
  Run* run = std::exchange(places_.at(worker_id).run, nullptr);
  if (run != nullptr) events_.on_ended(*run, ending);
}

void Workers::on_unbegun(worker::Worker& worker) {
  events_.on_change();
  Run* run = std::exchange(places_.at(worker.id()).run, nullptr);
  if (run != nullptr) events_.on_unbegun(*run);
}

// ---- behind a request ----

void Workers::on_done(worker::Worker& worker, const message::Received& done) {
  events_.on_change();
  Place& place = places_.at(worker.id());
  if (done.tracking != TRACKING_AUTO) {
    rewinds_.add(done.tracking, done.pages, done.microseconds);
  }
  if (young_deaths_.failures() > 0) young_deaths_.succeeded();
  if (worker.terminating()) return;
  if (exits_behind_request(place.arm)) return done.stays ? worker.retire() : void();
  if (!done.stays) {
    const bool no_reason = done.retirement == RETIRED_NOT;
    return count_retired(worker, place, no_reason ? worker::kRetiredLeft : done.retirement,
                         done.text);
  }
  if (is_of_serving_generation(place)) retirements_.count_stay();
  place.since = worker.idle_since();
  if (worker.state() == WorkerState::idle) settle(worker, place);
}

// It takes another request, if it should.
void Workers::settle(worker::Worker& worker, const Place& place) {
  if (!serves(place)) return worker.retire();
  if (const auto relief = relief_of(place, settings_.workers)) {
    count_retired(worker, place, relief->retirement, relief->why);
    return worker.retire();
  }
  idle_.push_back(&worker);
}

void Workers::on_reset_over(worker::Worker& worker) {
  Place& place = places_.at(worker.id());
  place.since = base::Clock::now();
  if (serves(place) && generation_->verify_worker(worker.id(), worker.pid())) return;
  events_.on_change();
  worker.retire();
}

void Workers::verified(std::uint64_t worker_id, const std::string& difference) {
  const auto found = places_.find(worker_id);
  if (found == places_.end()) return;
  Place& place = found->second;
  worker::Worker& worker = *place.worker;
  if (worker.state() != WorkerState::checking || !serves(place)) return;
  events_.on_change();
  rewinds_.count_verified();
  if (difference.empty()) {
    worker.pass_check();
    return settle(worker, place);
  }
  rewinds_.count_difference();
  const std::string shown = base::printable(difference, 1000);
  base::log_warn(
      "program={} gen={} worker={} pid={}: differs from its zygote after {} request(s): {}; "
      "the worker is ended",
      program_, place.zygote.generation, worker_id, worker.pid(), worker.served(), shown);
  count_retired(worker, place, RETIRED_VERIFY, difference);
  worker.terminate();
}

void Workers::on_retired(worker::Worker& worker, std::uint32_t retirement, const std::string& why) {
  events_.on_change();
  const Place& place = places_.at(worker.id());
  count_retired(worker, place, retirement, why);
  const bool again = base::Clock::now() >= no_fork_before_;
  if (retirement != RETIRED_FAULT || !again || !serves(place) || !died_young(worker)) return;
  const base::Duration pause = young_deaths_.failed();
  if (pause.count() == 0) return;
  no_fork_before_ = base::Clock::now() + pause;
  base::log_warn(
      "program={} worker={} died with nothing to do, as others before it: {}; none is "
      "forked for {} ms, requests run classic",
      program_, worker.id(), base::printable(why, 300), pause.count());
}

void Workers::count_retired(const worker::Worker& worker, const Place& place,
                            std::uint32_t retirement, const std::string& why) {
  if (exits_behind_request(place.arm) || !is_of_serving_generation(place)) return;
  const std::string shown = base::printable(why, 300);
  if (!retirements_.count(retirement, shown)) return;
  base::log_info(
      "program={} gen={} worker={} pid={} cannot stay for another request: {}{}; it is "
      "replaced (later ones for this reason are only counted)",
      program_, place.zygote.generation, worker.id(), worker.pid(), retirement_name(retirement),
      shown.empty() ? "" : ": " + shown);
}

void Workers::on_note(worker::Worker&, const message::Received& note) {
  events_.on_note(note);
}

void Workers::on_gone(worker::Worker& worker) {
  std::erase(idle_, &worker);
  const bool serves_now = is_of_serving_generation(places_.at(worker.id()));
  if (worker.lost() && serves_now) generation_->count_lost_worker(worker.lost_why());
  gone_.push_back(worker.id());
  events_.on_change();
}

// ---- their number ----

void Workers::retire_idle(std::size_t count) {
  for (; count > 0 && !idle_.empty(); --count) {
    worker::Worker* oldest = idle_.front();
    idle_.erase(idle_.begin());
    if (oldest->state() == WorkerState::idle) oldest->retire();
  }
}

std::string Workers::end_overdue() {
  const base::TimePoint now = base::Clock::now();
  for (const auto& [id, place] : places_) {
    const WorkerState state = place.worker->state();
    if (now - place.since < kGiveUp) continue;
    if (state == WorkerState::resetting) place.worker->terminate();
    if (!serves(place) || place.by_fastcgi != nullptr) continue;
    if (state != WorkerState::starting && state != WorkerState::checking) continue;
    // The starter itself looks after these.
    if (state == WorkerState::starting && generation_->making() == worker::Making::ahead) continue;
    return fmt::format("no worker was {} within {} ms",
                       state == WorkerState::starting ? "forked" : "compared with it",
                       kGiveUp.count());
  }
  return {};
}

void Workers::sweep() {
  for (const std::uint64_t id : gone_) places_.erase(id);
  gone_.clear();
  // Their zygote, which should have looked at them, is gone.
  for (const auto& [id, place] : places_) {
    if (place.worker->state() == WorkerState::checking && !serves(place)) place.worker->retire();
  }
}

}  // namespace pool
