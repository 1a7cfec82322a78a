#include "pool/generations.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "limits/users.h"
#include "modules/learned.h"

namespace pool {
namespace {

// When a program could not be made warm, it runs classic for this long before another try; after
// the next failure for twice as long, and so on.
constexpr std::chrono::seconds kColdPause{60};
constexpr std::chrono::minutes kColdPauseMost{32};
// When a zygote for other settings could not be made, an older one serves for this long before
// another try.
constexpr std::chrono::seconds kFailedSettingsPause{60};
// A request that is started again costs a little more than it would cost at level linked: as long
// as some are not, the deeper level pays.
constexpr unsigned kAnewPerCentMost = 80;

}  // namespace

Generations::Generations(const Surroundings& surroundings, const Subject& subject,
                         const config::ProgramSettings& settings, Workers& workers,
                         GenerationsOwner& owner)
    : surroundings_(surroundings),
      subject_(subject),
      settings_(settings),
      workers_(workers),
      owner_(owner),
      version_(subject, settings, surroundings.folders),
      learner_(subject.title),
      demotion_(kColdPause, kColdPauseMost),
      changes_(surroundings.loop, subject.title),
      retry_(kColdPause, kColdPauseMost),
      calm_timer_(surroundings.loop, [this] { begin_when_calm(); }) {}

Generations::~Generations() = default;

bool Generations::has_zygote() const {
  const auto holds = [](const auto& generation) {
    return generation != nullptr && (generation->is_up() || generation->speaks_fastcgi());
  };
  return holds(active_) || holds(upcoming_);
}

std::string Generations::constant_environment() const {
  WarmEnvironment environment;
  for (const auto& [name, value] : start_choice_.constants()) environment.add(name, value);
  return std::move(environment.block);
}

// ---- a request comes ----

void Generations::see(const router::ProgramFile& file, bool runs_otherwise,
                      std::string_view environment) {
  version_.see(file, runs_otherwise);
  start_choice_.note_request(environment);
}

void Generations::keep_up(std::string_view environment) {
  changes_.note_request();
  const policy::GenerationsView seen = view();
  carry_out(policy::next_generation(seen, now()), seen, environment);
}

// Checks the files that the serving generation has loaded.
policy::GenerationsView Generations::view() {
  const Generation* newest = upcoming_ != nullptr ? upcoming_.get() : active_.get();
  policy::GenerationsView view{.exists = newest != nullptr,
                               .upcoming = upcoming_ != nullptr,
                               .warm = warm(),
                               .other_file = version_.is_new(),
                               .other_settings = newest != nullptr && is_for_others(*newest),
                               .demoted = demotion_.stands()};
  view.cold = active_ != nullptr && active_->warmth() == Warmth::cold &&
              active_->plan().executable.cold_reason.empty();
  view.try_again_at = retry_.due_at();
  if (const auto changed = active_ == nullptr ? "" : active_->changed_file(); !changed.empty()) {
    changes_.note_file(changed);
    view.loaded_file = true;
  }
  if (!view.demoted) return view;
  view.demoted_for_settings = demotion_.is_for(settings_);
  view.trust_again_at = demotion_.ends_at();
  return view;
}

// Whether it was made for other settings than the current ones, which, as far as is known, can be
// made warm.
bool Generations::is_for_others(const Generation& generation) const {
  if (failed_.settings == settings_ && now() < failed_.at + kFailedSettingsPause) return false;
  const GenerationPlan& plan = generation.plan();
  return plan.enclosed != surroundings_.cgroups.wanted(settings_.limits) ||
         (plan.settings != settings_ && !config::same_generation(settings_, plan.settings));
}

void Generations::carry_out(const policy::NextGeneration& next, const policy::GenerationsView& view,
                            std::string_view environment) {
  if (next.forgets_demotion) {
    next.step == policy::Step::trust_again ? demotion_.try_again() : demotion_.forget();
  }
  if (next.step == policy::Step::keep) return;
  if (next.step == policy::Step::trust_again) return begin();
  if (next.is_change) retry_.forget_failures();
  if (next.is_new_version) changes_.note_end();
  if (view.other_file) forget_version();
  if (next.lets_go) cool_down();
  start_choice_.take(environment);
  if (next.step == policy::Step::begin_when_calm) return begin_when_calm();
  begin(next.step == policy::Step::try_deeper ? Depth::deepest : Depth::any);
}

void Generations::forget_version() {
  version_.take();
  using Names = modules::Learner::Names;
  learner_.begin_anew(newest_ > 0 ? Names::go : Names::stay);  // at 0, the names are inherited
  start_choice_.forget_read();
  changes_.forget_restless();
}

// While its files change all the time, the program runs classic.
void Generations::begin_when_calm() {
  if (active_ != nullptr || upcoming_ != nullptr || !surroundings_.shares->zygote_room()) return;
  const base::Duration wait = changes_.wait();
  if (wait.count() == 0) return begin();
  calm_timer_.start(wait);
}

void Generations::begin(Depth depth) {
  (void)changes_.have_calmed();
  GenerationPlan plan{.number = ++newest_,
                      .subject = subject_,
                      .executable = version_.look(),
                      .settings = settings_,
                      .demotion = demotion_.why(),
                      .constants = start_choice_.constants(),
                      .learned = {},
                      .restless = changes_.restless(),
                      .enclosed = surroundings_.cgroups.wanted(settings_.limits),
                      .depth = depth};
  if (settings_.learn != config::Learn::none) plan.learned = learner_.names();
  // A static program cannot be preloaded, but it can listen.
  if (worker::speaks_fastcgi(plan.executable, settings_.launch)) {
    plan.executable.cold_reason.clear();
  }
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  learner_.generation_begins();
  changes_.note_start();
  retry_.begins(now());
  GenerationOwner& self = *this;
  upcoming_ = std::make_unique<Generation>(surroundings_, std::move(plan), self);
  owner_.on_change();
}

void Generations::on_fork_failed(std::uint64_t worker_id, const std::string& why) {
  workers_.pause_forks();
  base::log_warn("program={} cannot fork worker={}: {}; classic for now", title(), worker_id, why);
}

void Generations::on_verified(std::uint64_t look_id, const worker::Verdict& verdict) {
  workers_.verified(look_id, verdict);
}

bool Generations::suits(Turn& turn) {
  if (!warm() || turn.job().side == compare::Side::classic) return true;
  const std::uint64_t number = active_->plan().number;
  if (const auto known = turn.suits(number)) return *known;
  const bool suits = judge(turn);
  turn.judge(number, suits);
  return suits;
}

bool Generations::judge(Turn& turn) {
  const std::uint64_t number = active_->plan().number;
  const std::string_view environment = turn.job().environment;
  const std::string name = active_->misfit(environment);
  // The settings changed: a zygote with the old ones serves until one with the new ones is warm.
  const auto &then = active_->plan().settings.env, &now_set = settings_.env;
  if (name.empty() || (then != now_set && (then.contains(name) || now_set.contains(name)))) {
    start_choice_.count_fit();
    return true;
  }
  misfit_name_ = name;
  const bool other =
      start_choice_.count_misfit(environment, active_->start_variables().read(), now());
  if (start_choice_.is_first_in(number)) {
    base::log_info(
        "program={} gen={}: a request's {} is not what its zygote read at its start: it runs "
        "classic "
        "(later ones are only counted)",
        title(), number, base::printable(name, 60));
  }
  if (!other || upcoming_ != nullptr) return false;
  base::log_info("program={} gen={}: requests with another {} prevail: a new generation", title(),
                 number, base::printable(name, 60));
  start_choice_.take(environment);
  begin();
  return false;
}

// ---- at the end of a turn ----

void Generations::settle() {
  outgoing_.clear();
  adopt_upcoming();
  outgoing_.clear();
  note_warmth();
}

void Generations::improve() {
  // Not before a request has named everything that it loaded.
  const bool may_learn =
      upcoming_ == nullptr && active_ != nullptr && !workers_.any_names_modules();
  if (may_learn && learner_.wants_generation()) {
    learner_.count_generation();
    begin();
  }
  demote_if_due();
  if (upcoming_ == nullptr && active_ != nullptr && changes_.have_calmed()) begin();
}

void Generations::adopt_upcoming() {
  if (upcoming_ == nullptr || upcoming_->warmth() == Warmth::warming) return;
  if (keep_active_instead()) return;
  workers_.serve(upcoming_.get());
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  active_ = std::move(upcoming_);
  retry_.begins(now());
  retry_.forget_pause();
}

// A generation may have been cold from the beginning, or become cold, or lose its depth.
void Generations::note_warmth() {
  if (active_ == nullptr || active_->warmth() == Warmth::warming) return;
  const bool is_warm = active_->warmth() == Warmth::warm;
  // No request comes to these workers any more, and nothing else would let them go.
  if (!is_warm) workers_.retire_idle(Workers::kAll);
  if (!active_->fell_short()) {
    retry_.forget_pause();
    if (is_warm && retry_.has_held(now())) retry_.forget_failures();
    return;
  }
  if (retry_.pause().count() > 0) return;
  retry_.fails(now());
  base::log_info("program={}: it is tried again to make it {} in {} s, or when it changes", title(),
                 is_warm ? "as deep as can be" : "warm", retry_.pause().count() / 1000);
}

// A change of a file has already ended the old generation; one that still serves answers correctly.
bool Generations::keep_active_instead() {
  failed_.steps.clear();
  const bool was_to_be_deeper = upcoming_->plan().depth == Depth::deepest;
  const bool goes_on = warm() || (was_to_be_deeper && active_ != nullptr && active_->is_up());
  if (upcoming_->warmth() != Warmth::cold || !goes_on) return false;
  for (const std::string& step : upcoming_->steps()) {
    failed_.steps.push_back(fmt::format("{} in generation {}", step, upcoming_->plan().number));
  }
  if (was_to_be_deeper) {
    retry_.forget_pause();  // the next pause is longer
  } else {
    failed_.settings = upcoming_->plan().settings;
    failed_.at = now();
  }
  base::log_warn("program={} gen={}: could not be started: {}; generation {} serves on", title(),
                 upcoming_->plan().number, upcoming_->reason(), active_->plan().number);
  outgoing_.push_back(std::move(upcoming_));
  return true;
}

void Generations::cool_down() {
  failed_.steps.clear();
  calm_timer_.stop();
  workers_.serve(nullptr);
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  owner_.on_change();
}

// That requests leave workers that cannot be reset may be one visitor's doing: it matters only if
// rewinding costs more than forking would.
void Generations::demote_if_due() {
  if (!warm()) return;
  if (workers_.started_anew().more_than(kAnewPerCentMost)) {
    active_->demote(fmt::format("{} of the last {} requests were started anew: {}",
                                workers_.started_anew().count(), policy::RecentShare::kWindow,
                                anew_why_));
    return workers_.forget_started_anew();
  }
  if (demotion_.stands() || active_->reset() != config::Reset::rewind) return;
  if (retry_.has_held(now())) demotion_.note_held();
  if (!workers_.retirements().more_than(settings_.rewind.max_retired)) return;
  const policy::ResetCosts costs = workers_.reset_costs();
  if (costs.rewinding_pays()) return;
  demotion_.begin(fmt::format("{}; {}", workers_.retirements().describe(), costs.describe()),
                  settings_, now());
  base::log_warn(
      "program={} gen={}: {}; it gets reset = fork from here on (rewind.max_retired is {}), and "
      "rewind is tried again in {} s, or when it changes",
      title(), active_->plan().number, demotion_.why(), settings_.rewind.max_retired,
      demotion_.pause().count() / 1000);
  begin();
}

// Something that one request left was visible to the next. No other worker of that zygote is
// trusted either; requests run classic until a generation that forks is warm.
void Generations::on_difference(const std::string& difference) {
  if (demotion_.is_proven()) return;
  demotion_.prove("a rewind left something behind: " + base::printable(difference, 300), settings_,
                  now());
  base::log_warn(
      "program={}: {}; it gets reset = fork until the program, a file that it loaded or its "
      "settings "
      "change",
      title(), demotion_.why());
  cool_down();
  begin();
}

// Such a request is answered as by classic, and does not affect others.
void Generations::note_started_anew(const std::string& why) {
  ++started_anew_;
  if (start_choice_.follow_first_request()) {
    base::log_info(
        "program={}: made warm before its first request was known: a new generation, as "
        "that one asks",
        title());
    begin();
  }
  const std::string shown = base::printable(why, 300);
  if (std::exchange(anew_why_, shown) == shown) return;
  base::log_info(
      "program={}: a request was started anew: {} (more of the kind are only counted; if they are "
      "more than {} of a hundred, the level is wrong for it)",
      title(), shown, kAnewPerCentMost);
}

void Generations::on_note(const message::Received& note) {
  if (note.note_kind == NOTE_WARNING) {
    base::log_warn("program={} {}", title(), base::printable(note.text, 300));
  }
  if (note.note_kind == NOTE_SHALLOWER) note_started_anew(note.text);
  if (note.note_kind != NOTE_LOADED || settings_.learn == config::Learn::none) return;
  if (active_ == nullptr) return;
  const auto& identity = active_->terms().identity;
  const bool learned =
      learner_.hear(note.text, {.language = version_.language(),
                                .folders = active_->module_folders(),
                                .learn = settings_.learn,
                                .user = identity ? *identity : limits::own_identity()});
  if (learned) owner_.on_change();
}

// ---- what it shows ----

void Generations::describe(PoolStatus& status) const {
  status.retry_in = retry_in();
  status.newest_generation = newest_;
  status.started_anew = started_anew_;
  status.misfit_name = misfit_name_;
  if (settings_.learn != config::Learn::none) status.learned = learner_.names();
  status.failed_steps = failed_.steps;
  const Generation* generation = active_ != nullptr ? active_.get() : upcoming_.get();
  status.level = "none";
  if (generation == nullptr) {
    status.level_reason = changes_.why_waiting();
    if (!surroundings_.shares->zygote_room() && settings_.mode != config::Mode::classic) {
      status.level_reason = "as many others as bridge.zygotes_max are warm and asked for";
    }
    return;
  }
  status.generation = generation->plan().number;
  status.failed_steps = generation->steps();
  status.failed_steps.insert(status.failed_steps.end(), failed_.steps.begin(), failed_.steps.end());
  status.level_reason = generation->reason();
  const auto& restless = generation->plan().restless;
  if (status.level_reason.empty() && !restless.empty()) {
    status.level_reason =
        restless.front() + " changes all the time: what looks at it is left to the requests";
  }
  status.zygote_pid = generation->zygote_pid();
  if (generation->warmth() == Warmth::warming) status.level = "warming";
  if (generation->warmth() == Warmth::warm) {
    status.level = generation->level();
    status.reset = generation->reset();
    status.reset_reason = generation->reset_reason();
  }
}

std::optional<base::Duration> Generations::retry_in() const {
  const auto due = retry_.due_at() ? retry_.due_at() : demotion_.ends_at();
  if (!due) return std::nullopt;
  const auto rest = std::chrono::duration_cast<base::Duration>(*due - now());
  return std::max(base::Duration::zero(), rest);
}

}  // namespace pool
