#include "pool/pool.h"

#include <algorithm>
#include <csignal>

#include "base/log.h"
#include "pool/pools.h"
#include "router/wasm_file.h"
#include "worker/wasm_words.h"

namespace pool {

using policy::PoolView;

namespace {

// How often to check whether something takes too long, while requests wait.
constexpr std::chrono::milliseconds kWatchInterval{500};

// How often to check whether workers have become too old or too large.
constexpr std::chrono::milliseconds kCareInterval{1000};

// A request that was given to this many workers, of which none began it, runs classic.
constexpr unsigned kStartsMax = 3;

// It is the operator's to install what runs WebAssembly; nothing else counts here.
std::string what_is_missing(const ProgramVersion& version) {
  if (version.language() != worker::Language::wasm) return {};
  return router::why_no_wasm_runner(version.classic().file);
}

// by: 1, or -1 for a turn that was not begun after all.
void count_started(PoolStatus& counts, const Turn& turn, int by) {
  if (!turn.is_for_client()) return;
  const auto add = static_cast<std::uint64_t>(by);
  counts.requests += add;
  (turn.arm() == compare::Arm::classic ? counts.classic : counts.persistent) += add;
}

}  // namespace

Pool::Pool(const Surroundings& surroundings, Subject subject)
    : surroundings_(surroundings),
      subject_(std::move(subject)),
      generations_(surroundings, subject_, settings_, workers_, *this),
      queue_(surroundings.loop, settings_.queue, *this),
      workers_(surroundings, subject_, settings_, *this),
      rest_timer_(surroundings.loop, [this] { note_rest(); }),
      fork_timer_(surroundings.loop, [this] { pump_.schedule(); }),
      care_timer_(surroundings.loop,
                  [this] {
                    care_is_due_ = false;
                    workers_.care();
                    pump_.schedule();
                  }),
      pump_(surroundings.loop, [this] { pump(); }),
      claim_(*surroundings.shares, [this] { pump_.schedule(); }) {}

Pool::~Pool() = default;

void Pool::refresh(const config::ProgramSettings& settings, const router::ProgramFile& file,
                   std::string_view environment, compare::Side side) {
  const bool runs_otherwise =
      settings.interpreter != settings_.interpreter || settings.wasm != settings_.wasm;
  if (settings != settings_) settings_ = settings;
  last_used_ = now();
  rested_ = false;
  generations_.see(file, runs_otherwise, environment);
  if (settings_.mode == config::Mode::classic && side == compare::Side::classic) return;
  warmth_wanted_ = last_used_;
  generations_.keep_up(environment);
}

std::optional<compare::Arm> Pool::warm_arm() const {
  if (!generations_.warm()) return std::nullopt;
  return workers_.arm();
}

std::string_view Pool::warm_level() const {
  return generations_.warm() ? generations_.serving()->level() : std::string_view();
}

WarmNote Pool::note() const {
  return {.program = subject_.home,
          .learned = generations_.learned(),
          .environment = generations_.constant_environment()};
}

void Pool::inherit(const std::vector<std::string>& learned) {
  generations_.inherit(learned);
}

// ---- the queue ----

void Pool::enqueue(Turn& turn) {
  queue_.add(turn);
  pump_.schedule();
}

void Pool::leave(Turn& turn) {
  if (turn.state() == Turn::State::queued) {
    queue_.remove(turn);
    if (queue_.clients().empty()) claim_.stop_waiting();
  }
  if (turn.state() == Turn::State::running) workers_.abandon(turn);
}

void Pool::on_full(Turn& turn) {
  ++counts_.refused_full;
  refuse(turn, 503, fmt::format("the queue is full ({}, queue.max)", settings_.queue.max));
}

void Pool::on_late(Turn& turn) {
  ++counts_.refused_late;
  const PoolView now = view();
  const policy::Shares& shares = *surroundings_.shares;
  std::string why = fmt::format("no worker was free within {} ms (queue.timeout); {} were busy",
                                settings_.queue.timeout.count(), now.busy + now.classic);
  if (claim_.waiting()) {
    why += fmt::format(", {} of all programs together (bridge.workers_max is {})", shares.running(),
                       shares.limit());
  }
  if (queue_.clients().empty()) claim_.stop_waiting();
  refuse(turn, 503, why);
}

void Pool::refuse(Turn& turn, int status, const std::string& reason) {
  if (turn.is_for_client()) ++counts_.refused;
  turn.refuse({status, reason});
}

// ---- the pump ----

void Pool::pump() {
  workers_.sweep();
  generations_.settle();
  for (Turn* turn : queue_.clients()) (void)generations_.suits(*turn);
  const unsigned at_once = view().busy + queue_.waiting_for_workers();
  recent_peak_.note(std::min(at_once, settings_.workers.max), now(),
                    settings_.workers.idle_timeout);
  queue_.serve_clients();
  if (queue_.clients().empty()) claim_.stop_waiting();
  queue_.limit();
  queue_.serve_shadows();
  generations_.improve();
  PoolView seen = view();
  seen.long_idle = workers_.idle_since_before(now() - settings_.workers.idle_timeout);
  if (seen.making == worker::Making::ahead) seen.idle_cores = surroundings_.idle_cores();
  update_claim(seen);
  carry_out(policy::plan(seen));
  watch_forks();
  check_invariants();
}

// The program's own limit is checked first: if that lets no more run, it need not wait for places
// of other programs.
bool Pool::has_room() {
  const PoolView now = view();
  // What is executed has the place of the request that executes it.
  update_claim(now);
  if (subject_.executed) return policy::has_room(now);
  if (policy::has_room(now)) return claim_.admitted();
  claim_.stop_waiting();
  return false;
}

void Pool::update_claim(const PoolView& now) {
  if (subject_.executed) return claim_.update(0, now.idle + now.starting + now.returning);
  claim_.update(now.busy + now.classic, now.idle + now.starting + now.returning + now.beside);
}

bool Pool::serve(Turn& turn, std::size_t before) {
  // Who executes it can as well do so without us.
  if (turn.job().executed) return serve_shadow(turn);
  if (refuse_changed(turn)) return true;
  if (turn.job().side == compare::Side::classic) {
    start_classic(turn, Cold::chosen);
  } else if (!generations_.warm()) {
    start_classic(turn, Cold::not_warm);
  } else if (turn.starts() >= kStartsMax) {
    start_classic(turn, Cold::no_worker);
  } else if (!generations_.suits(turn)) {
    ++counts_.misfits;
    start_classic(turn, Cold::misfit);
  } else if (!serve_warm(turn)) {
    if (may_wait(before)) return false;
    start_classic(turn, Cold::no_worker);
  }
  return true;
}

bool Pool::serve_shadow(Turn& turn) {
  const unsigned starts_max = turn.job().executed ? 1 : kStartsMax;
  if (refuse_changed(turn)) return true;
  if (turn.job().side == compare::Side::classic) {
    start_classic(turn, Cold::chosen);
  } else if (!generations_.warm() || turn.starts() >= starts_max || !generations_.suits(turn)) {
    refuse(turn, 503, "it is not warm");
  } else if (!serve_warm(turn)) {
    if (workers_.worth_waiting(0)) return false;
    refuse(turn, 503, "there is no worker for it");
  }
  return true;
}

// When the queue is full, no more requests may wait, and this one runs classic: it has a place.
bool Pool::may_wait(std::size_t before) const {
  return before < settings_.queue.max && workers_.worth_waiting(before);
}

// The file at its path was checked when it came. If the request had to wait, that may have
// changed.
bool Pool::refuse_changed(Turn& turn) {
  const bool has_waited = turn.has_waited() || !turn.is_for_client();
  if (!has_waited || surroundings_.judge == nullptr) return false;
  const auto refusal = surroundings_.judge(subject_.home);
  if (refusal) refuse(turn, refusal->status, refusal->reason);
  return refusal.has_value();
}

// False: no worker took it.
bool Pool::serve_warm(Turn& turn) {
  if (!workers_.has_idle()) return false;
  if (const auto refusal = surroundings_.identities.why_no_longer(settings_, subject_.home)) {
    refuse(turn, refusal->status, refusal->reason);
    return true;
  }
  if (generations_.serving()->speaks_fastcgi()) return serve_by_fastcgi(turn);
  const auto given = workers_.give(turn);
  if (!given) {
    refuse(turn, 502, given.error().message);
    return true;
  }
  if (given.value()) begin(turn);
  return given.value();
}

bool Pool::serve_by_fastcgi(Turn& turn) {
  auto body = turn.client().body();
  if (!body) {
    refuse(turn, 502, body.error().message);
    return true;
  }
  if (!workers_.give_by_fastcgi(turn, body.take())) return false;
  begin(turn);
  return true;
}

void Pool::start_classic(Turn& turn, Cold why) {
  turn.set_cold(why);
  const auto terms = surroundings_.identities.terms_for(settings_, subject_.home);
  if (!terms) return refuse(turn, terms.refusal().status, terms.refusal().reason);
  const auto fds = turn.client().descriptors();
  if (!fds) return refuse(turn, 502, fds.error().message);
  const ProgramVersion& version = generations_.version();
  if (version.language() == worker::Language::wasm && terms.value().identity)
    worker::make_wasm_cache(surroundings_.folders.cache, *terms.value().identity);
  const auto launched = workers_.launch(turn, version.classic(), fds.value(), terms.value());
  if (!launched) {
    const std::string missing = what_is_missing(version);
    if (!missing.empty()) return refuse(turn, 500, subject_.home + ": " + missing);
    return refuse(turn, 502, launched.error().message);
  }
  begin(turn);
}

void Pool::begin(Turn& turn) {
  count_started(counts_, turn, 1);
  turn.begin(now());
}

worker::Printed Pool::on_ended(Turn& turn, const worker::Ending& ending) {
  if (turn.is_for_client()) {
    counts_.warm.count(turn.cold());
    if (ending.app_status != 0) ++counts_.failed;
  }
  if (!ending.description.empty()) {
    if (ending.app_status == 128 + SIGXCPU) ++counts_.over_cpu_time;
    if (ending.app_status == 128 + SIGXFSZ) ++counts_.over_file_size;
  }
  // The kernel reports this with a signal that may have come from anybody.
  const std::string why = ending.app_status == 128 + SIGKILL
                              ? surroundings_.cgroups.why_killed(subject_.home)
                              : std::string();
  if (why.empty()) return turn.end(ending);
  worker::Ending explained = ending;
  explained.description += ": " + why;
  return turn.end(explained);
}

// Its client does not learn about it. It was the first of those that wait now.
void Pool::on_unbegun(Turn& turn) {
  count_started(counts_, turn, -1);
  turn.take_back();
  ++counts_.given_back;
  queue_.add_again(turn);
}

// ---- workers ----

void Pool::carry_out(const policy::PoolPlan& plan) {
  claim_.lack(0);
  if (!generations_.warm()) return;
  // A program switched to classic stays warm until it has been idle long enough: it may be switched
  // back.
  const bool may_fork = settings_.mode != config::Mode::classic ||
                        queue_.waiting_for_workers() > 0 || warmth_wanted_ == last_used_;
  // Requests that are admitted get workers; further workers are made as far as there is room.
  const policy::Shares& shares = *surroundings_.shares;
  const PoolView now = view();
  unsigned needed = 0;
  if (shares.limit() > 0 && now.waiting > 0 && policy::has_room(now) && claim_.admitted()) {
    const unsigned there = now.idle + now.starting + now.returning;
    const unsigned wanted = std::min(now.waiting, shares.limit() - shares.running());
    needed = wanted - std::min(wanted, there);
  }
  if (subject_.executed) needed = plan.fork;
  const unsigned fork = std::min(plan.fork, std::max(needed, shares.room()));
  if (may_fork) claim_.lack(plan.fork - fork);
  for (unsigned i = 0; i < fork && may_fork && workers_.may_fork(); ++i) workers_.fork_one();
  if (fork > 0 && may_fork && !workers_.may_fork()) fork_timer_.start(kWatchInterval);
  workers_.retire_idle(std::max(plan.retire, claim_.to_yield()));
  if (!care_is_due_ && workers_.needs_care()) {
    care_is_due_ = true;
    care_timer_.start(kCareInterval);
  }
  if (!rested_) rest_timer_.start(settings_.workers.idle_timeout);
}

// A zygote that takes too long over a fork (it is stopped, or swapped out) has no request of its
// own: it is replaced, and waiting requests run classic meanwhile.
void Pool::watch_forks() {
  if (!generations_.warm()) return;
  const std::string overdue = workers_.end_overdue();
  if (!overdue.empty()) {
    generations_.serving()->replace_zygote(overdue);
    return pump_.schedule();
  }
  if (!queue_.empty()) fork_timer_.start(kWatchInterval);
}

// There has been no pump for workers.idle_timeout: workers may have been idle for that long beside
// one that runs.
void Pool::note_rest() {
  const auto rest = now() - last_used_;
  const bool runs_any = view().running() > 0;
  if (!runs_any && rest < settings_.workers.idle_timeout) {
    return rest_timer_.start(std::chrono::duration_cast<base::Duration>(
        settings_.workers.idle_timeout - rest + std::chrono::milliseconds(1)));
  }
  rested_ = !runs_any;
  if (rested_) recent_peak_.forget();
  pump_.schedule();
}

}  // namespace pool
