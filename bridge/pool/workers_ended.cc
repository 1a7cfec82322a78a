// What becomes of a worker when its request has ended.
#include <algorithm>

#include "base/log.h"
#include "pool/stand_in.h"
#include "pool/workers.h"
#include "worker/processes.h"

namespace pool {

using worker::WorkerState;

namespace {

// A worker that has said that it is done only has to exit. A program that says so itself (it has
// the channel) and stays would otherwise have any number of processes: of those that leave, as many
// as may answer requests are left the usual time.
void hurry_those_that_leave(const std::unordered_map<std::uint64_t, Place>& places,
                            worker::Processes& processes, unsigned most) {
  if (places.size() <= most) return;
  std::vector<const worker::Worker*> leaving;
  for (const auto& [id, place] : places) {
    const worker::Worker& worker = *place.worker;
    const bool leaves = worker.state() == WorkerState::ending && !worker.terminating();
    if (leaves && worker.pid() > 0) leaving.push_back(&worker);
  }
  if (leaving.size() <= most) return;
  std::ranges::sort(leaving, {}, [](const worker::Worker* worker) { return worker->id(); });
  leaving.resize(leaving.size() - most);
  for (const worker::Worker* worker : leaving) processes.kill_one(worker->pid());
}

}  // namespace

void Workers::on_ended(worker::Worker& worker, const worker::Ending& ending) {
  owner_.on_change();
  Place& place = places_.at(worker.id());
  Turn* turn = std::exchange(place.turn, nullptr);
  auto printed = turn == nullptr ? worker::Printed{} : owner_.on_ended(*turn, ending);
  place.kept = std::move(printed.kept);
  if (printed.errors) place.behaviours |= policy::kComplained;
  if (place.arm != compare::Arm::classic && is_of_serving_generation(place)) {
    using Was = policy::RecentShare::Was;
    started_anew_.note(place.started_anew ? Was::yes : Was::no);
  }
  if (worker.state() == WorkerState::idle) stay(worker, place, printed.output);
  hurry_those_that_leave(places_, surroundings_.processes, settings_.workers.max);
}

// Its program ended, and the worker is still there, ready for another request.
void Workers::stay(worker::Worker& worker, Place& place, bool printed) {
  if (exits_after_request(place.arm)) return worker.retire();
  if (!printed && place.by_fastcgi == nullptr) {
    count_retired(worker, place, policy::kRetiredSilent, "a request ended without any output");
    return worker.retire();
  }
  if (is_of_serving_generation(place)) retirements_.count_stay();
  settle(worker, place);
}

void Workers::on_unbegun(worker::Worker& worker) {
  owner_.on_change();
  Turn* turn = std::exchange(places_.at(worker.id()).turn, nullptr);
  if (turn != nullptr) owner_.on_unbegun(*turn);
}

void Workers::on_done(worker::Worker& worker, const message::Received& done) {
  owner_.on_change();
  Place& place = places_.at(worker.id());
  if (done.tracking != TRACKING_AUTO) {
    rewinds_.add(done.tracking, done.pages, done.microseconds);
  }
  if (young_deaths_.failures() > 0) young_deaths_.succeeded();
  if (worker.terminating()) return;
  place.since = worker.idle_since();
  if (place.arm == compare::Arm::rewind) note_behaviour(place, done);
  // What becomes of a worker that stays is decided after its request was told about its end.
  if (worker.state() == WorkerState::idle) return;
  if (exits_after_request(place.arm)) return done.stays ? worker.retire() : void();
  if (!done.stays) {
    const bool no_reason = done.retirement == RETIRED_NOT;
    return count_retired(worker, place, no_reason ? worker::kRetiredLeft : done.retirement,
                         done.text);
  }
  if (is_of_serving_generation(place)) retirements_.count_stay();
}

// Lets it take another request, if it should.
void Workers::settle(worker::Worker& worker, const Place& place) {
  if (!serves(place)) return worker.retire();
  if (const auto replacement = replacement_of(place, settings_.workers, surroundings_.loop.now())) {
    count_retired(worker, place, replacement->retirement, replacement->why);
    return worker.retire();
  }
  idle_.push_back(&worker);
  if (place.behaviours != 0) idle_checks_.plan();
}

void Workers::on_reset_over(worker::Worker& worker) {
  Place& place = places_.at(worker.id());
  place.since = surroundings_.loop.now();
  place.look_id = next_look_id_++;
  if (serves(place) && generation_->verify_worker(place.look_id, worker.pid())) return;
  owner_.on_change();
  worker.retire();
}

// ---- comparisons ----

void Workers::note_behaviour(Place& place, const message::Received& done) {
  place.behaviours |= policy::kOrdinary;
  if ((done.unusual & DONE_RARE_CALL) != 0) place.behaviours |= policy::kRareCall;
  if ((done.unusual & DONE_FORKED) != 0) place.behaviours |= policy::kForked;
  if (place.loads) place.behaviours |= policy::kLoaded;
  if (done.exit_code != 0) place.behaviours |= policy::kFailed;
}

std::vector<IdleWorker> Workers::resting() const {
  std::vector<IdleWorker> all;
  for (const worker::Worker* worker : idle_) {
    const Place& place = places_.at(worker->id());
    if (worker->state() != WorkerState::idle || !serves(place)) continue;
    all.push_back({worker->id(), {place.behaviours, worker->idle_since()}});
  }
  return all;
}

std::uint64_t Workers::ask_whether_at_rest(std::uint64_t worker_id) {
  Place& place = places_.at(worker_id);
  if (const auto asked = place.worker->ask_whether_at_rest(); !asked) {
    place.behaviours = 0;
    count_retired(*place.worker, place, RETIRED_FAULT, asked.error().message);
    place.worker->retire();
    return 0;
  }
  return place.look_id = next_look_id_++;
}

void Workers::on_at_rest(worker::Worker& worker) {
  Place& place = places_.at(worker.id());
  const bool rests = worker.state() == WorkerState::idle && place.look_id != 0 && serves(place);
  const bool begun = rests && generation_->verify_worker(place.look_id, worker.pid());
  begun ? idle_checks_.begun(place.look_id) : idle_checks_.dropped();
}

Place* Workers::looked_at(std::uint64_t look_id) {
  for (auto& [id, place] : places_) {
    if (place.look_id == look_id) return &place;
  }
  return nullptr;
}

void Workers::verified(std::uint64_t look_id, const worker::Verdict& verdict) {
  const std::string& difference = verdict.difference;
  idle_checks_.over(look_id);
  Place* place = looked_at(look_id);
  // A worker that has got a request meanwhile differs, and should.
  if (look_id == 0 || place == nullptr) return;
  place->look_id = 0;
  worker::Worker& worker = *place->worker;
  const bool was_resetting = worker.state() == WorkerState::checking;
  if ((!was_resetting && worker.state() != WorkerState::idle) || !serves(*place)) return;
  // A comparison with a worker that has just died says nothing.
  if (!difference.empty() && !surroundings_.processes.is_living_child(worker.pid())) return;
  owner_.on_change();
  if (verdict.pages > 0 || !difference.empty()) rewinds_.count_verified();
  if (!difference.empty()) return differs(*place, difference);
  place->behaviours = 0;
  if (!was_resetting) return;
  worker.pass_check();
  settle(worker, *place);
}

void Workers::differs(Place& place, const std::string& difference) {
  worker::Worker& worker = *place.worker;
  rewinds_.count_difference();
  base::log_warn(
      "program={} gen={} worker={} pid={}: differs from its zygote after {} request(s): {}; "
      "the worker is ended",
      subject_.title, place.zygote.generation, worker.id(), worker.pid(), worker.served(),
      base::printable(difference, 1000));
  count_retired(worker, place, RETIRED_VERIFY, difference);
  std::erase(idle_, &worker);
  worker.terminate();
  owner_.on_difference(difference);
}

policy::ResetCosts Workers::reset_costs() const {
  return {.retired_per_cent = retirements_.per_cent(),
          .rewind = std::chrono::microseconds(rewinds_.microseconds().p50),
          .start = start_times_.value(),
          .forked = forked_start_times_.value()};
}

// ---- its end ----

void Workers::on_retired(worker::Worker& worker, std::uint32_t retirement, const std::string& why) {
  owner_.on_change();
  const Place& place = places_.at(worker.id());
  std::string cause = why;
  if (retirement == worker::kRetiredLeft && place.started_anew) retirement = policy::kRetiredAnew;
  if (retirement == worker::kRetiredLeft && !place.executed.empty()) {
    retirement = policy::kRetiredExecuted;
    cause = place.executed;
  }
  count_retired(worker, place, retirement, cause);
  const bool again = surroundings_.loop.now() >= no_fork_before_;
  if (retirement != RETIRED_FAULT || !again || !serves(place) ||
      !died_young(worker, surroundings_.loop.now()))
    return;
  const base::Duration pause = young_deaths_.failed();
  if (pause.count() == 0) return;
  no_fork_before_ = surroundings_.loop.now() + pause;
  base::log_warn(
      "program={} worker={} died with nothing to do, as others before it: {}; none is "
      "forked for {} ms, requests run classic",
      subject_.title, worker.id(), base::printable(why, 300), pause.count());
}

void Workers::count_retired(const worker::Worker& worker, const Place& place,
                            std::uint32_t retirement, const std::string& why) {
  if (exits_after_request(place.arm) || !is_of_serving_generation(place)) return;
  const std::string shown = base::printable(why, 300);
  if (!retirements_.count(retirement, shown)) return;
  base::log_info(
      "program={} gen={} worker={} pid={} cannot stay for another request: {}{}; it is "
      "replaced (later ones for this reason are only counted)",
      subject_.title, place.zygote.generation, worker.id(), worker.pid(),
      policy::retirement_name(retirement), shown.empty() ? "" : ": " + shown);
}

void Workers::on_note(worker::Worker& worker, const message::Received& note) {
  Place& place = places_.at(worker.id());
  if (note.note_kind == NOTE_SHALLOWER) {
    place.started_anew = true;
    if (place.turn != nullptr) place.turn->set_cold(Cold::anew);
  }
  if (note.note_kind == NOTE_LOADED) place.loads = true;
  owner_.on_note(note);
}

void Workers::on_execute(worker::Worker& worker, const message::Execution& execution) {
  Place& place = places_.at(worker.id());
  const bool may_pass_it_on = place.turn != nullptr && serves(place);
  if (!may_pass_it_on ||
      !let_stand_in(surroundings_, subject_, settings_, *place.turn, execution)) {
    worker.answer_execute({});
  }
}

bool Workers::any_names_modules() const {
  return std::ranges::any_of(places_, [](const auto& entry) {
    return entry.second.loads && entry.second.turn != nullptr;
  });
}

void Workers::on_silent(worker::Worker& worker) {
  Place& place = places_.at(worker.id());
  if (place.turn != nullptr) place.turn->stand_in_is_over();
  if (place.turn == nullptr || place.started_anew || !serves(place)) return;
  // A worker that was started ahead of need is not a copy of anything.
  if (generation_->making() == worker::Making::ahead) return;
  place.executed = executed_instead(worker.pid(), generation_->zygote_pid());
  if (place.executed.empty()) return;
  place.turn->set_cold(Cold::executed);
  owner_.on_executed(place.executed);
}

void Workers::on_gone(worker::Worker& worker) {
  std::erase(idle_, &worker);
  const Place& place = places_.at(worker.id());
  if (place.look_id != 0) idle_checks_.dropped();
  if (worker.lost() && serves(place)) {
    generation_->count_lost_worker(worker.lost_why());
    // A launch takes time; forks would follow each other immediately until this is judged.
    if (place.by_fastcgi == nullptr && generation_->is_losing_workers()) pause_forks();
  }
  gone_.push_back(worker.id());
  owner_.on_change();
}

}  // namespace pool
