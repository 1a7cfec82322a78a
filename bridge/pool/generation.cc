#include "pool/generation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "cgi/environment.h"
#include "modules/learned.h"
#include "worker/ahead_starter.h"
#include "worker/wasm_words.h"
#include "worker/zygote.h"

namespace pool {
namespace {
// Workers are also lost when their zygote dies, which may show a moment later.
constexpr std::chrono::milliseconds kVerdictDelay{100};
// A zygote that ends by itself is replaced at once, later ones after longer and longer pauses, and
// finally no more; a zygote that lasted for kLongLife ended for a reason of its own.
constexpr unsigned kSuddenEndsMax = 6;
constexpr unsigned kSuddenEndsAtOnce = 3;
constexpr std::chrono::milliseconds kSuddenEndPause{250};
constexpr std::chrono::milliseconds kSuddenEndPauseMost{8000};
constexpr std::chrono::seconds kLongLife{60};

// A program that speaks FastCGI gets each request's variables only by that protocol; but php reads
// some of them once and for all, as in classic.
policy::LaunchVariables launched_with(const GenerationPlan& plan, bool by_fastcgi) {
  policy::ConstantVariables constants = plan.constants;
  std::erase_if(constants, [&](const auto& variable) {
    return by_fastcgi && (plan.executable.language != worker::Language::php ||
                          !policy::is_read_at_start(variable.first, config::Level::compiled));
  });
  auto variables = policy::launch_variables(constants, plan.settings, plan.executable.assignments);
  const auto& executed = plan.subject.executed;
  if (executed && executed->search_path.empty()) variables.erase("PATH");
  return variables;
}

// One process that serves again and again, or that holds what a module of the program made ready
// for one request, is not copied.
Attempt first_attempt(const GenerationPlan& plan) {
  Attempt first{worker::deepest_level(plan.executable, plan.settings.level)};
  const bool is_one = plan.settings.reset == config::Reset::none || !plan.settings.preload.empty();
  if (is_one && worker::may_be_ahead(plan.executable.language, first.level) &&
      worker::runs_again(plan.executable.language, first.level)) {
    first.making = worker::Making::ahead;
  }
  return first;
}
// A module of WebAssembly is compiled at its first start.
config::Duration start_timeout(const GenerationPlan& plan) {
  const bool may_compile = plan.executable.language == worker::Language::wasm;
  return plan.settings.timeouts.start +
         (may_compile ? worker::kWasmCompileTime : config::Duration::zero());
}
// It said nothing when it ended: loading its modules may be what it did not survive.
bool may_stop_shallower(const Attempt& attempt, const GenerationPlan& plan,
                        const std::string& said) {
  const config::Level next = worker::shallower_level(plan.executable.language, attempt.level);
  return said.empty() && next != config::Level::linked;
}
}  // namespace

Generation::Generation(const Surroundings& surroundings, GenerationPlan plan,
                       GenerationOwner& owner)
    : surroundings_(surroundings),
      plan_(std::move(plan)),
      owner_(owner),
      by_fastcgi_(worker::speaks_fastcgi(plan_.executable, plan_.settings.launch)),
      attempt_(first_attempt(plan_)),
      start_variables_(launched_with(plan_, by_fastcgi_), plan_.executable.assignments,
                       !plan_.executable.shell.empty()),
      files_(surroundings.loop),
      sudden_ends_(kSuddenEndPause, kSuddenEndPauseMost, kSuddenEndsAtOnce),
      restart_(surroundings.loop, [this] { is_up() ? start_zygote() : starter_.reset(); }),
      verdict_(surroundings.loop, [this] { judge_lost_workers(); }),
      restart_later_(surroundings.loop, [this] { restart_.schedule(); }) {
  if (by_fastcgi_) {
    if (!take_terms()) return;
    files_ = modules::LoadedFiles(surroundings_.loop, surroundings_.loop.file_stamp_ns(),
                                  plan_.subject.title);
    files_.add(plan_.executable.file);
    warmth_ = Warmth::warm;
    base::log_info("program={} gen={}: its workers speak FastCGI", plan_.subject.title,
                   plan_.number);
  } else if (!plan_.executable.cold_reason.empty()) {
    become_cold(plan_.executable.cold_reason);
  } else {
    start_zygote();
  }
}

// False: the program must not run, or not as that user. Its requests are told the same when they
// run classic.
bool Generation::take_terms() {
  // Another zygote may be started long after a request was checked.
  const auto refusal = starts_ == 0 || surroundings_.judge == nullptr
                           ? std::nullopt
                           : surroundings_.judge(plan_.subject.home);
  if (refusal) become_cold(refusal->reason);
  if (refusal) return false;
  auto terms = surroundings_.identities.terms_for(plan_.settings, plan_.subject.home);
  if (!terms) become_cold(terms.refusal().reason);
  if (!terms) return false;
  terms_ = terms.take();
  if (plan_.executable.language == worker::Language::wasm && terms_.identity)
    worker::make_wasm_cache(surroundings_.folders.cache, *terms_.identity);
  if (by_fastcgi_) limits::without_cpu_time(terms_);
  return true;
}

void Generation::start_zygote() {
  if (!take_terms()) return;
  warmth_ = Warmth::warming;
  lost_in_a_row_ = 0;
  files_ = modules::LoadedFiles(surroundings_.loop, surroundings_.loop.file_stamp_ns(),
                                plan_.subject.title);
  starts_ += 1;
  launched_at_ = surroundings_.loop.now();
  starter_ = make_starter();
  const auto started = starter_->start(warm_program());
  if (!started) become_cold("cannot start a zygote: " + started.error().message);
}

std::unique_ptr<worker::Starter> Generation::make_starter() {
  const worker::StartTerms terms{
      "program=" + plan_.subject.title, start_timeout(plan_), reset_to_ask(),
      plan_.settings.limits.error_output,
      surroundings_.cgroups.of(plan_.subject.home, plan_.settings.limits)};
  worker::StarterOwner& self = *this;
  const auto make = [this, terms](worker::StarterOwner& owner) {
    return std::make_unique<worker::Zygote>(surroundings_.loop, surroundings_.processes, terms,
                                            making(), owner, owner_);
  };
  if (making() == worker::Making::forked) return make(self);
  return std::make_unique<worker::AheadStarter>(surroundings_.loop, terms.reset, make, self,
                                                owner_);
}

worker::WarmProgram Generation::warm_program() const {
  std::vector<std::string> preload = plan_.settings.preload;
  preload.insert(preload.end(), plan_.learned.begin(), plan_.learned.end());
  const std::string& name = plan_.executable.name;
  const auto& executed = plan_.subject.executed;
  WarmEnvironment environment =
      warm_environment(start_variables_.launched(), plan_.settings,
                       {.program = name.empty() ? plan_.subject.home : name,
                        .adapters = surroundings_.folders.adapters,
                        .level = attempt_.level,
                        .reset = reset_to_ask(),
                        .making = making(),
                        .binding = attempt_.binding,
                        .restless = plan_.restless,
                        .ignored = executed ? executed->ignored : 0});
  for (const auto& [name, value] : worker::zygote_variables(
           plan_.executable, attempt_.level, surroundings_.folders.adapters, preload)) {
    environment.add_first(name, value);
  }
  std::string folder =
      executed ? executed->folder : cgi::folder_of(plan_.subject.home, environment.block);
  return {.file = worker::zygote_file(plan_.executable, surroundings_.folders.adapters),
          .argv = worker::zygote_argv(plan_.executable, attempt_.level,
                                      surroundings_.folders.adapters, preload),
          .environment = std::move(environment.block),
          .environment_count = environment.count,
          .cwd = std::move(folder),
          .terms = terms_};
}

void Generation::on_ready() {
  warmth_ = Warmth::warm;
  plan_.depth = Depth::any;
  files_.add_mapped(starter_->pid());
  const std::string reset_why = reset_reason();
  base::log_info(
      "program={} gen={} {}={}: ready at level {}, reset {} in {} ms{}{}", plan_.subject.title,
      plan_.number, making() == worker::Making::ahead ? "ahead" : "zygote", starter_->pid(),
      config::to_string(starter_->level()), config::to_string(reset()),
      starter_->start_time().count(), reason_.empty() ? "" : " (not deeper: " + reason_ + ")",
      reset_why.empty() ? "" : " (reset: " + reset_why + ")");
  if (plan_.settings.reset == config::Reset::none && reset() != config::Reset::none) {
    base::log_warn("program={} gen={}: not reset = none but {}: {}", plan_.subject.title,
                   plan_.number, config::to_string(reset()), reset_why);
  }
  owner_.on_change();
}

void Generation::on_note(std::uint32_t kind, const std::string& text) {
  if (kind == NOTE_SHALLOWER) shallower_reason_ = base::printable(text, 300);
  if (kind == NOTE_LEVEL) reason_ = base::printable(text, 300);
  if (kind == NOTE_FILE) files_.add(text);
  if (kind == NOTE_FOLDERS) modules::read_folders_note(text, module_folders_);
  if (kind == NOTE_READ) start_variables_.note_read(text);
  if (kind == NOTE_WARNING) {
    base::log_warn("program={} {}", plan_.subject.title, base::printable(text, 300));
  }
}

// A program can keep its state only if its adapter can give it the next request.
config::Reset Generation::reset_to_ask() const {
  if (!plan_.demotion.empty()) return config::Reset::fork;
  const bool none = plan_.settings.reset == config::Reset::none;
  if (none && worker::runs_again(plan_.executable.language, attempt_.level))
    return config::Reset::none;
  if (making() == worker::Making::ahead) return config::Reset::fork;
  return none ? config::Reset::rewind : plan_.settings.reset;
}

std::string Generation::reset_reason() const {
  if (by_fastcgi_) return "it speaks FastCGI: what a request leaves is its own affair";
  if (!plan_.demotion.empty()) return plan_.demotion;
  std::string reason;
  if (reset_to_ask() != plan_.settings.reset) {
    reason = making() == worker::Making::ahead
                 ? "it is not forked: each request gets a process that was started ahead of need"
                 : "none is for programs whose language has an adapter, at its level";
  }
  if (warmth_ != Warmth::warm || starter_->reset_reason().empty()) return reason;
  return reason + (reason.empty() ? "" : "; ") + starter_->reset_reason();
}

std::string Generation::misfit(std::string_view environment) const {
  const worker::Language language = plan_.executable.language;
  if (by_fastcgi_ && language != worker::Language::php) return {};
  const config::Level level = by_fastcgi_ ? config::Level::compiled : attempt_.level;
  return start_variables_.misfit(environment, language, level);
}

void Generation::on_gone(const std::string& why) {
  if (surroundings_.loop.now() - launched_at_ > kLongLife) sudden_ends_.succeeded();
  if (warmth_ == Warmth::warm && sudden_ends_.failures() + 1 < kSuddenEndsMax) {
    const base::Duration pause = sudden_ends_.failed();
    base::log_warn("program={} gen={}: the zygote is gone: {}; another is started in {} ms",
                   plan_.subject.title, plan_.number, why, pause.count());
    warmth_ = Warmth::warming;
    pause.count() == 0 ? restart_.schedule() : restart_later_.start(pause);
    owner_.on_change();
    return;
  }
  step_back(shallower_reason_.empty() ? why : shallower_reason_);
}

void Generation::step_back(const std::string& why) {
  const auto after =
      std::chrono::duration_cast<base::Duration>(surroundings_.loop.now() - launched_at_).count();
  steps_.push_back(fmt::format(
      "{}{}: {} (after {} ms)",
      by_fastcgi_ ? "as FastCGI" : fmt::format("level {}", config::to_string(attempt_.level)),
      plan_.learned.empty() ? "" : " with learned modules", why, after));
  if (by_fastcgi_) {
    become_cold(why);
  } else if (attempt_.binding == Binding::early &&
             why.find("undefined symbol") != std::string::npos) {
    base::log_warn("program={} gen={}: {}; trying without binding it early", plan_.subject.title,
                   plan_.number, why);
    attempt_.binding = Binding::lazy;
    restart_.schedule();
  } else if (attempt_.making == worker::Making::forked &&
             !may_stop_shallower(attempt_, plan_, shallower_reason_) &&
             worker::may_be_ahead(plan_.executable.language, attempt_.level)) {
    base::log_info(
        "program={} gen={}: its workers cannot be forked: {}; starting them ahead of need",
        plan_.subject.title, plan_.number, why);
    attempt_.making = worker::Making::ahead;
    shallower_reason_.clear();
    restart_.schedule();
  } else if (!plan_.learned.empty() && shallower_reason_.empty()) {
    base::log_warn("program={} gen={}: no zygote with the learned modules: {}; trying without them",
                   plan_.subject.title, plan_.number, why);
    plan_.learned.clear();
    restart_.schedule();
  } else if (attempt_.level != config::Level::linked && plan_.depth == Depth::any) {
    const config::Level next = worker::shallower_level(plan_.executable.language, attempt_.level);
    base::log_warn("program={} gen={}: not at level {}: {}; trying level {}", plan_.subject.title,
                   plan_.number, config::to_string(attempt_.level), why, config::to_string(next));
    reason_ = why;
    fell_back_ = shallower_reason_.empty();
    attempt_.level = next;
    attempt_.making = worker::Making::forked;
    restart_.schedule();
  } else {
    become_cold(reason_.empty() ? why : fmt::format("{}; at level linked: {}", reason_, why));
  }
  shallower_reason_.clear();
}

void Generation::demote(const std::string& why) {
  if (warmth_ != Warmth::warm || attempt_.level == config::Level::linked) return;
  warmth_ = Warmth::warming;
  shallower_reason_ = why;
  step_back(why);
  fell_back_ = true;  // it may have been one visitor's doing
  owner_.on_change();
}

void Generation::replace_zygote(const std::string& why) {
  if (warmth_ == Warmth::warm) on_gone(why);
}

base::Status Generation::fork_worker(std::uint64_t worker_id, base::UniqueFd channel_end) {
  return starter_->fork_worker(worker_id, std::move(channel_end));
}

base::Status Generation::verify_worker(std::uint64_t look_id, pid_t pid) {
  return starter_->verify_worker(look_id, pid);
}

void Generation::become_cold(const std::string& why) {
  warmth_ = Warmth::cold;
  reason_ = why;
  if (steps_.empty()) steps_.push_back(why);
  restart_.schedule();
  if (plan_.depth == Depth::any) {
    base::log_warn("program={} gen={}: runs classic: {}", plan_.subject.title, plan_.number, why);
  }
  owner_.on_change();
}

void Generation::count_lost_worker(const std::string& why) {
  lost_why_ = why;
  if (++lost_in_a_row_ == kLostWorkersMax && warmth_ == Warmth::warm) verdict_.start(kVerdictDelay);
}

void Generation::judge_lost_workers() {
  if (!is_losing_workers() || warmth_ != Warmth::warm) return;
  warmth_ = Warmth::warming;
  step_back("its workers die before they are ready" + (lost_why_.empty() ? "" : ": " + lost_why_));
  owner_.on_change();
}

}  // namespace pool
