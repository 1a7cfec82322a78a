// The generations of one program: when a new one is started, and which one serves.
#include <algorithm>

#include "base/log.h"
#include "cgi/environment.h"
#include "limits/users.h"
#include "modules/learned.h"
#include "pool/pool.h"
#include "pool/pools.h"

namespace pool {
namespace {

// After a zygote for other settings could not be made, an older one serves for this long before
// another try.
constexpr std::chrono::seconds kFailedSettingsPause{60};
// A request that is started anew costs what it would cost at level linked, and a little more: while
// some are not, the deeper level pays.
constexpr unsigned kAnewPerCentMost = 80;

}  // namespace

void Pool::refresh(const config::ProgramSettings& settings, const router::ProgramFile& file,
                   std::string_view environment, compare::Side side) {
  note_seen(settings, file);
  last_used_ = now();
  rested_ = false;
  start_choice_.note_request(environment);
  if (settings_.mode == config::Mode::classic && side == compare::Side::classic) return;
  warmth_wanted_ = last_used_;
  const policy::GenerationsView view = generations_view();
  carry_out(policy::next_generation(view, last_used_), view, environment);
}

void Pool::note_seen(const config::ProgramSettings& settings, const router::ProgramFile& file) {
  const bool other_interpreter = settings.interpreter != settings_.interpreter;
  if (settings != settings_) settings_ = settings;
  if (file == seen_ && !other_interpreter) return;
  seen_ = file;
  const worker::Executable executable = look_at_file();
  language_ = executable.language;
  launched_file_ = executable.interpreter_words == 0 ? file.path : program_;
}

// Looks at the files that the generation that serves has loaded.
policy::GenerationsView Pool::generations_view() {
  const Generation* newest = upcoming_ != nullptr ? upcoming_.get() : active_.get();
  policy::GenerationsView view{.exists = newest != nullptr,
                               .upcoming = upcoming_ != nullptr,
                               .warm = warm(),
                               .other_file = seen_ != file_,
                               .other_settings = newest != nullptr && is_for_others(*newest),
                               .demoted = !demotion_.why.empty()};
  view.cold = active_ != nullptr && active_->warmth() == Warmth::cold &&
              active_->plan().executable.cold_reason.empty();
  view.try_again_at = retry_.due_at();
  if (const auto changed = active_ == nullptr ? "" : active_->changed_file(); !changed.empty()) {
    base::log_info("program={}: {} has changed: a new generation", program_, changed);
    view.loaded_file = true;
  }
  if (!view.demoted) return view;
  view.demoted_for_settings = config::same_generation(settings_, demotion_.settings);
  if (!demotion_.is_proven) view.trust_again_at = demotion_.since + demotion_.pause;
  return view;
}

// Made for other settings than those of now, with which one can be made as far as is known.
bool Pool::is_for_others(const Generation& generation) const {
  if (failed_settings_ == settings_ && last_used_ < failed_at_ + kFailedSettingsPause) return false;
  const GenerationPlan& plan = generation.plan();
  return plan.enclosed != surroundings_.cgroups.wanted(settings_.limits) ||
         (plan.settings != settings_ && !config::same_generation(settings_, plan.settings));
}

void Pool::carry_out(const policy::NextGeneration& next, const policy::GenerationsView& view,
                     std::string_view environment) {
  if (next.forgets_demotion) {
    demotion_ = {};
    if (next.step != policy::Step::trust_again) demotion_backoff_.succeeded();
  }
  if (next.step == policy::Step::keep) return;
  if (next.step == policy::Step::trust_again) return start_generation();
  if (next.is_change) retry_.forget_failures();
  if (next.is_new_version) damper_.note_change(last_used_);
  if (view.other_file) forget_version();
  if (next.lets_go) cool_down();
  start_choice_.take(environment);
  if (next.step == policy::Step::begin_when_calm) return start_when_calm();
  start_generation(next.step == policy::Step::try_deeper ? Depth::deepest : Depth::any);
}

void Pool::forget_version() {
  file_ = seen_;
  using Names = modules::Learner::Names;
  learner_.begin_anew(generations_ > 0 ? Names::go : Names::stay);  // before: what was inherited
  start_choice_.forget_read();
}

worker::Executable Pool::look_at_file() const {
  const auto path = settings_.env.find("PATH");
  return worker::inspect(
      program_, path == settings_.env.end() ? cgi::kDefaultPath : std::string_view(path->second),
      settings_.interpreter, seen_.path);
}

// While its files change all the time, it runs classic.
void Pool::start_when_calm() {
  if (active_ != nullptr || upcoming_ != nullptr || !surroundings_.shares->zygote_room()) return;
  const base::Duration wait = damper_.wait(surroundings_.loop.now());
  if (wait.count() == 0) return start_generation();
  if (told_pause_ != damper_.pause()) {
    told_pause_ = damper_.pause();
    base::log_info("program={}: {}", program_, damper_.describe());
  }
  calm_timer_.start(wait);
}

void Pool::start_generation(Depth depth) {
  GenerationPlan plan{.number = ++generations_,
                      .program = program_,
                      .executable = look_at_file(),
                      .settings = settings_,
                      .demotion = demotion_.why,
                      .constants = start_choice_.constants(),
                      .learned = {},
                      .enclosed = surroundings_.cgroups.wanted(settings_.limits),
                      .depth = depth};
  if (settings_.learn != config::Learn::none) plan.learned = learner_.names();
  language_ = plan.executable.language;
  // A static one cannot be preloaded, but it can listen.
  if (worker::speaks_fastcgi(plan.executable, settings_.launch)) {
    plan.executable.cold_reason.clear();
  }
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  learner_.generation_begins();
  damper_.note_start(surroundings_.loop.now());
  told_pause_ = {};
  retry_.begins(now());
  upcoming_ = std::make_unique<Generation>(
      surroundings_, std::move(plan),
      Generation::Events{[this] { pump_.schedule(); },
                         [this](std::uint64_t worker_id, const std::string& why) {
                           workers_.pause_forks();
                           base::log_warn("program={} cannot fork worker={}: {}; classic for now",
                                          program_, worker_id, why);
                         },
                         [this](std::uint64_t look_id, const std::string& difference) {
                           workers_.verified(look_id, difference);
                         }});
  pump_.schedule();
}

// Whether the zygote that serves was launched with what this request brings. Asked once for each:
// if most requests bring something else, another zygote is launched with that, and this one serves
// on until it is warm.
bool Pool::suits(Run& run) {
  if (!warm() || run.job_.side == compare::Side::classic) return true;
  const std::uint64_t number = active_->plan().number;
  if (run.judged_for_ == number) return run.suits_;
  run.judged_for_ = number;
  const std::string_view environment = run.job_.environment;
  const std::string name = active_->misfit(environment);
  // Settings that changed: a zygote of the old ones serves until one of the new ones is warm.
  const auto &then = active_->plan().settings.env, &now = settings_.env;
  run.suits_ = name.empty() || (then != now && (then.contains(name) || now.contains(name)));
  if (run.suits_) {
    start_choice_.count_fit();
    return true;
  }
  counts_.misfit_name = name;
  const bool other = start_choice_.count_misfit(environment, active_->start_variables().read(),
                                                surroundings_.loop.now());
  if (start_choice_.is_first_in(number)) {
    base::log_info(
        "program={} gen={}: a request's {} is not what its zygote read at its start: it runs "
        "classic "
        "(later ones are only counted)",
        program_, number, base::printable(name, 60));
  }
  if (!other || upcoming_ != nullptr) return false;
  base::log_info("program={} gen={}: requests with another {} prevail: a new generation", program_,
                 number, base::printable(name, 60));
  start_choice_.take(environment);
  start_generation();
  return false;
}

void Pool::adopt_upcoming() {
  if (upcoming_ == nullptr || upcoming_->warmth() == Warmth::warming) return;
  if (keep_active_instead()) return;
  workers_.serve(upcoming_.get());
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  active_ = std::move(upcoming_);
  retry_.begins(now());
  retry_.forget_pause();
}

// A generation may have been cold from the beginning, or become it, or no longer be as deep.
void Pool::note_warmth() {
  if (active_ == nullptr || active_->warmth() == Warmth::warming) return;
  const bool is_warm = active_->warmth() == Warmth::warm;
  // No request comes to them any more, and nothing else would let them go.
  if (!is_warm) workers_.retire_idle(Workers::kAll);
  if (!active_->fell_short()) {
    retry_.forget_pause();
    if (is_warm && retry_.has_held(now())) retry_.forget_failures();
    return;
  }
  if (retry_.pause().count() > 0) return;
  retry_.fails(now());
  base::log_info("program={}: it is tried again to make it {} in {} s, or when it changes",
                 program_, is_warm ? "as deep as can be" : "warm", retry_.pause().count() / 1000);
}

// A change of a file has ended the old generation already; one that still serves answers rightly.
bool Pool::keep_active_instead() {
  failed_steps_.clear();
  const bool was_to_be_deeper = upcoming_->plan().depth == Depth::deepest;
  const bool goes_on = warm() || (was_to_be_deeper && active_ != nullptr && active_->is_up());
  if (upcoming_->warmth() != Warmth::cold || !goes_on) return false;
  for (const std::string& step : upcoming_->steps()) {
    failed_steps_.push_back(fmt::format("{} in generation {}", step, upcoming_->plan().number));
  }
  if (was_to_be_deeper) {
    retry_.forget_pause();  // the next is longer
  } else {
    failed_settings_ = upcoming_->plan().settings;
    failed_at_ = surroundings_.loop.now();
  }
  base::log_warn("program={} gen={}: could not be started: {}; generation {} serves on", program_,
                 upcoming_->plan().number, upcoming_->reason(), active_->plan().number);
  outgoing_.push_back(std::move(upcoming_));
  return true;
}

void Pool::cool_down() {
  failed_steps_.clear();
  calm_timer_.stop();
  workers_.serve(nullptr);
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  pump_.schedule();
}

WarmNote Pool::note() const {
  WarmEnvironment environment;
  for (const auto& [name, value] : start_choice_.constants()) environment.add(name, value);
  return {.program = program_,
          .learned = learner_.names(),
          .environment = std::move(environment.block)};
}

void Pool::inherit(const std::vector<std::string>& learned) {
  learner_.inherit(learned);
}

// That requests leave workers which cannot be put back may be one visitor's doing: it matters only
// where rewinding costs more than forking would.
void Pool::demote_if_due() {
  if (!warm()) return;
  if (workers_.started_anew().more_than(kAnewPerCentMost)) {
    active_->demote(fmt::format("{} of the last {} requests were started anew: {}",
                                workers_.started_anew().count(), policy::RecentShare::kWindow,
                                anew_why_));
    return workers_.forget_started_anew();
  }
  if (!demotion_.why.empty() || active_->reset() != config::Reset::rewind) return;
  if (retry_.has_held(now())) demotion_backoff_.succeeded();
  if (!workers_.retirements().more_than(settings_.rewind.max_retired)) return;
  const policy::ResetCosts costs = workers_.reset_costs();
  if (costs.rewinding_pays()) return;
  demotion_.pause = demotion_backoff_.failed();
  demote(fmt::format("{}; {}", workers_.retirements().describe(), costs.describe()));
  base::log_warn(
      "program={} gen={}: {}; it gets reset = fork from here on (rewind.max_retired is {}), and "
      "rewind is tried again in {} s, or when it changes",
      program_, active_->plan().number, demotion_.why, settings_.rewind.max_retired,
      demotion_.pause.count() / 1000);
  start_generation();
}

void Pool::demote(const std::string& why) {
  demotion_.why = why;
  demotion_.settings = settings_;
  demotion_.since = surroundings_.loop.now();
}

// What one request left was there for the next. No other worker of that zygote is trusted either;
// requests run classic until one that forks stands.
void Pool::on_difference(const std::string& difference) {
  if (demotion_.is_proven) return;
  demotion_.is_proven = true;
  demote("a rewind left something behind: " + base::printable(difference, 300));
  base::log_warn(
      "program={}: {}; it gets reset = fork until the program, a file that it loaded or its "
      "settings "
      "change",
      program_, demotion_.why);
  cool_down();
  start_generation();
}

// Such a request is answered as classic would; it moves nobody else.
void Pool::note_started_anew(const std::string& why) {
  ++counts_.started_anew;
  if (start_choice_.follow_first_request()) {
    base::log_info(
        "program={}: made warm before its first request was known: a new generation, as "
        "that one asks",
        program_);
    start_generation();
  }
  const std::string shown = base::printable(why, 300);
  if (std::exchange(anew_why_, shown) == shown) return;
  base::log_info(
      "program={}: a request was started anew: {} (more of the kind are only counted; if they are "
      "more than {} of a hundred, the level is wrong for it)",
      program_, shown, kAnewPerCentMost);
}

void Pool::on_note(const message::Received& note) {
  if (note.note_kind == NOTE_WARNING) {
    base::log_warn("program={} {}", program_, base::printable(note.text, 300));
  }
  if (note.note_kind == NOTE_SHALLOWER) note_started_anew(note.text);
  if (note.note_kind != NOTE_LOADED || settings_.learn == config::Learn::none) return;
  if (active_ == nullptr) return;
  const auto& identity = active_->terms().identity;
  const bool learned =
      learner_.hear(note.text, {.language = language_,
                                .folders = active_->module_folders(),
                                .learn = settings_.learn,
                                .user = identity ? *identity : limits::own_identity()});
  if (learned) pump_.schedule();
}

}  // namespace pool
