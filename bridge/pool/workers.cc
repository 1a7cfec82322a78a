#include "pool/workers.h"

#include <algorithm>

#include "base/assert.h"
#include "base/log.h"
#include "cgi/environment.h"
#include "worker/launch.h"

namespace pool {
namespace {

using worker::WorkerState;

const std::vector<std::string> kNoWords;

// After a failed fork, requests run classic for this long before the zygote is asked again.
constexpr std::chrono::milliseconds kForkPause{500};
// A fork, a reset or a comparison (which reads all memory of a worker) is given up after this time:
// a CPU ceiling may keep it waiting, and a machine may stand still for a moment.
constexpr std::chrono::milliseconds kGiveUp{10000};
// When workers die before they have served anybody: some are replaced at once, later ones after
// longer and longer pauses.
constexpr std::chrono::milliseconds kYoungDeathPause{250};
constexpr std::chrono::seconds kYoungDeathPauseMost{30};
constexpr unsigned kYoungDeathsAtOnce = 8;

// Where a process that answers a request begins.
std::string folder_for(const Subject& subject, std::string_view environment) {
  if (subject.executed) return subject.executed->folder;
  return cgi::folder_of(subject.home, environment);
}

}  // namespace

Workers::Workers(const Surroundings& surroundings, const Subject& subject,
                 const config::ProgramSettings& settings, WorkersOwner& owner)
    : surroundings_(surroundings),
      subject_(subject),
      label_("program=" + subject.title),
      settings_(settings),
      owner_(owner),
      young_deaths_(kYoungDeathPause, kYoungDeathPauseMost, kYoungDeathsAtOnce),
      idle_checks_(surroundings.loop, settings, surroundings.idle_cores, *this) {}

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
  started_anew_ = {};
}

// A zygote that ended by itself leaves workers: each one finishes what it has.
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
  place.worker = std::make_unique<worker::Worker>(surroundings_.loop, surroundings_.processes, id,
                                                  label_, settings_.timeouts.kill_grace, owner);
  place.zygote = zygote;
  place.arm = arm;
  place.born = place.since = surroundings_.loop.now();
  return *place.worker;
}

void Workers::start_fastcgi_worker() {
  const std::uint64_t id = next_worker_id_++;
  worker::WorkerOwner& owner = *this;
  auto made =
      std::make_unique<upstream::FastcgiWorker>(surroundings_.loop, surroundings_.processes, id,
                                                label_, settings_.timeouts.kill_grace, owner);
  upstream::FastcgiWorker& worker = *made;
  places_[id] = {.worker = std::move(made),
                 .by_fastcgi = &worker,
                 .zygote = generation_->zygote(),
                 .arm = compare::Arm::none,
                 .born = surroundings_.loop.now(),
                 .since = surroundings_.loop.now()};
  const auto& executable = generation_->plan().executable;
  const WarmEnvironment environment =
      fastcgi_environment(generation_->start_variables().launched(), executable.language);
  const std::string folder = folder_for(subject_, environment.block);
  const auto started = worker.start({.file = executable.file,
                                     .argv = worker::fastcgi_argv(executable),
                                     .environment = environment.block,
                                     .environment_count = environment.count,
                                     .cwd = folder,
                                     .timeout = settings_.timeouts.start,
                                     .terms = generation_->terms(),
                                     .stderr_max = settings_.limits.error_output,
                                     .cgroup = cgroup()});
  if (started) return;
  pause_forks();
  base::log_warn("program={} cannot start a worker: {}; classic for now", subject_.title,
                 started.error().message);
  gone_.push_back(id);
  generation_->count_lost_worker(started.error().message);
}

void Workers::fork_one() {
  if (generation_->speaks_fastcgi()) return start_fastcgi_worker();
  auto channel = worker::make_channel();
  if (!channel) {
    pause_forks();
    base::log_warn("program={} cannot fork a worker: {}; classic for now", subject_.title,
                   channel.error().message);
    return;
  }
  worker::Worker& worker = add(generation_->zygote(), arm_of(generation_->reset()));
  worker.await_fork(std::move(channel.value().first));
  // Only a dying zygote refuses; the worker's channel then breaks, and the worker is lost. Until
  // the zygote's death is known, the next fork would fail, too.
  if (!generation_->fork_worker(worker.id(), std::move(channel.value().second))) pause_forks();
}

void Workers::pause_forks() {
  no_fork_before_ = std::max(no_fork_before_, surroundings_.loop.now() + kForkPause);
}

void Workers::on_ready(worker::Worker& worker) {
  owner_.on_change();
  const Place& place = places_.at(worker.id());
  if (!is_of_serving_generation(place)) return worker.retire();
  generation_->count_ready_worker();
  if (worker.served() == 0) note_start_time(place);
  std::erase(idle_, &worker);  // it may have been idle before
  idle_.push_back(&worker);
}

// For a worker that a zygote forked; starting a process ahead of need is not a fork.
void Workers::note_start_time(const Place& place) {
  if (place.by_fastcgi != nullptr || generation_->making() != worker::Making::forked) return;
  const auto time =
      std::chrono::duration_cast<std::chrono::microseconds>(surroundings_.loop.now() - place.born);
  if (place.arm == compare::Arm::rewind) start_times_.add(time);
  if (place.arm == compare::Arm::fork) forked_start_times_.add(time);
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
      idle_.size(), [this](std::size_t i) { return idle_[i]->idle_since(); },
      surroundings_.loop.now(), rewinds_.usual_time());
  worker::Worker& worker = *idle_[chosen];
  idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(chosen));
  return worker;
}

base::Result<bool> Workers::give(Turn& turn) {
  while (has_idle()) {
    worker::Worker& worker = take_idle();
    base::FdPair kept = std::move(places_.at(worker.id()).kept);
    if (kept.first && turn.client().reuse_streams(kept)) {
      if (assign(turn, message::Streams::kept, {}, worker)) return true;
      continue;
    }
    if (turn.job().executed) {
      const int peer = turn.client().peer();
      if (assign(turn, message::Streams::by_peer, {&peer, 1}, worker)) return true;
      continue;
    }
    const auto fds = turn.client().descriptors();
    if (!fds) {
      idle_.push_back(&worker);
      return fds.error();
    }
    const auto& identity = generation_->terms().identity;
    if (identity) limits::give_streams(*identity, fds.value().data(), fds.value().size());
    if (assign(turn, message::Streams::sent, fds.value(), worker)) return true;
  }
  return false;
}

bool Workers::give_by_fastcgi(Turn& turn, base::UniqueFd body) {
  const RequestVariables environment(turn.job().environment, turn.job().environment_count,
                                     generation_->plan().executable);
  while (has_idle()) {
    worker::Worker& worker = take_idle();
    const std::uint64_t id = worker.id();
    Place& place = places_.at(id);
    const auto assigned = place.by_fastcgi->assign(environment.block(), body, turn);
    if (assigned) {
      take_place(place, turn);
      return true;
    }
    base::log_warn("program={} worker={}: {}; another takes the request", subject_.title, id,
                   assigned.error().message);
  }
  return false;
}

bool Workers::assign(Turn& turn, message::Streams streams, std::span<const int> fds,
                     worker::Worker& worker) {
  const std::uint64_t id = worker.id();
  Place& place = places_.at(id);
  const std::uint64_t request_id = next_request_id_++;
  const message::SayReady say_ready = whether_to_check(place);
  const worker::Executable& executable = generation_->plan().executable;
  const RequestVariables environment(turn.job().environment, turn.job().environment_count,
                                     executable);
  const std::string folder = folder_for(subject_, environment.block());
  const message::EncodedRequest request = message::encode_request(
      request_id, say_ready, streams,
      {.cwd = folder,
       .argv = executable.argv,
       .query_words = executable.passes_query_words ? turn.job().query_words : kNoWords,
       .environment = environment.block(),
       .environment_count = environment.count()});
  const auto assigned = worker.assign(request_id, say_ready, request, fds);
  if (!assigned) {
    base::log_warn("program={} worker={}: {}; another takes the request", subject_.title, id,
                   assigned.error().message);
    return false;
  }
  take_place(place, turn);
  return true;
}

// A comparison under way is now useless; it does not keep the worker from its work.
void Workers::take_place(Place& place, Turn& turn) {
  place.look_id = 0;
  place.started_anew = place.loads = false;
  place.executed.clear();
  place.turn = &turn;
  turn.give_to(*place.worker, place.arm);
}

message::SayReady Workers::whether_to_check(const Place& place) {
  if (place.arm != compare::Arm::rewind || !serves(place)) return message::SayReady::no;
  const unsigned every = settings_.rewind.verify;
  if (every == 0 || ++assigned_rewinds_ % every != 0) return message::SayReady::no;
  return message::SayReady::yes;
}

base::Status Workers::launch(Turn& turn, const ClassicCommand& command, std::span<const int> fds,
                             const limits::Terms& terms) {
  std::vector<std::string> argv = command.argv;
  argv.insert(argv.end(), turn.job().query_words.begin(), turn.job().query_words.end());
  const std::string folder = folder_for(subject_, turn.job().environment);
  const auto pid =
      surroundings_.processes.launch({.file = command.file,
                                      .argv = argv,
                                      .environment = turn.job().environment,
                                      .environment_count = turn.job().environment_count,
                                      .cwd = folder,
                                      .stdin_fd = fds[0],
                                      .stdout_fd = fds[1],
                                      .stderr_fd = fds[2],
                                      .terms = terms,
                                      .cgroup = cgroup()});
  if (!pid) return pid.error();
  worker::Worker& worker = add({}, compare::Arm::classic);
  worker.adopt(pid.value());
  take_place(places_.at(worker.id()), turn);
  return base::Done{};
}

void Workers::abandon(Turn& turn) {
  Place& place = places_.at(turn.worker()->id());
  place.turn = nullptr;
  place.worker->forget_request();
  place.worker->terminate();
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
  const base::TimePoint now = surroundings_.loop.now();
  for (const auto& [id, place] : places_) {
    const WorkerState state = place.worker->state();
    if (now - place.since < kGiveUp) continue;
    if (state == WorkerState::resetting) place.worker->terminate();
    // Its zygote, which alone could have ended it, is gone.
    if (state == WorkerState::starting && !serves(place)) place.worker->terminate();
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
  // Their zygote, which should have compared them, is gone.
  for (const auto& [id, place] : places_) {
    if (place.worker->state() == WorkerState::checking && !serves(place)) place.worker->retire();
  }
}

}  // namespace pool
