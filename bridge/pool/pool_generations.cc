// The generations of one program: when a new one is started, and which one serves.
#include <algorithm>

#include "base/log.h"
#include "cgi/environment.h"
#include "pool/pool.h"

namespace pool {
namespace {

// After a zygote could not be made, the program runs classic for this long before another try.
constexpr std::chrono::seconds kColdPause{60};
constexpr std::size_t kLearnedMax = 200;

}  // namespace

void Pool::refresh(const config::ProgramSettings& settings, const router::FileIdentity& identity,
                   std::string_view environment, compare::Side side) {
  const bool other_file = identity != identity_;
  const bool other_interpreter = settings.interpreter != settings_.interpreter;
  if (settings != settings_) settings_ = settings;
  if (identity != seen_ || other_interpreter) {
    seen_ = identity;
    language_ = look_at_file().language;
  }
  last_used_ = base::Clock::now();
  rested_ = false;
  if (settings_.mode == config::Mode::classic && side == compare::Side::classic) return;
  warmth_wanted_ = last_used_;

  const Generation* newest = upcoming_ != nullptr ? upcoming_.get() : active_.get();
  const bool failed_before = failed_settings_ == settings_ && last_used_ < failed_at_ + kColdPause;
  const bool other_settings = newest != nullptr && !failed_before &&
                              newest->plan().settings != settings_ &&
                              !config::same_generation(settings_, newest->plan().settings);
  bool stale = newest == nullptr || other_file || other_settings;
  if (active_ != nullptr && active_->warmth() == Warmth::cold &&
      active_->plan().executable.cold_reason.empty() &&
      base::Clock::now() > cold_since_ + kColdPause) {
    stale = true;
  }
  const std::string changed = active_ == nullptr ? "" : active_->changed_file(last_used_);
  if (!changed.empty()) {
    base::log_info("program={}: {} has changed: a new generation", program_, changed);
    stale = true;
  }
  if (!stale) return;
  if (other_file || !changed.empty()) damper_.note_change(last_used_);
  if (other_file) {
    identity_ = identity;
    learned_.clear();
    relearned_ = 0;
  }
  demotion_.clear();
  // The old version of a file, or an environment that was wrong, must not answer once more.
  if (!other_settings || other_file) cool_down();
  constants_ = constant_variables(environment);
  if (newest == nullptr || other_file || !changed.empty()) return start_when_calm();
  start_generation();
}

worker::Executable Pool::look_at_file() const {
  const auto path = settings_.env.find("PATH");
  return worker::inspect(
      program_, path == settings_.env.end() ? cgi::kDefaultPath : std::string_view(path->second),
      settings_.interpreter);
}

// While its files change all the time, it runs classic.
void Pool::start_when_calm() {
  if (active_ != nullptr || upcoming_ != nullptr) return;
  const base::Duration wait = damper_.wait(base::Clock::now());
  if (wait.count() == 0) return start_generation();
  if (told_pause_ != damper_.pause()) {
    told_pause_ = damper_.pause();
    base::log_info("program={}: {}", program_, damper_.describe());
  }
  calm_timer_.start(wait);
}

void Pool::start_generation() {
  GenerationPlan plan{.number = ++generations_,
                      .program = program_,
                      .executable = look_at_file(),
                      .settings = settings_,
                      .demotion = demotion_,
                      .constants = constants_,
                      .learned = {}};
  if (settings_.learn != config::Learn::none) plan.learned = {learned_.begin(), learned_.end()};
  // A static one cannot be preloaded, but it can listen.
  if (worker::speaks_fastcgi(plan.executable, settings_.launch)) {
    plan.executable.cold_reason.clear();
  }
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  learned_more_ = false;
  damper_.note_start(base::Clock::now());
  told_pause_ = {};
  cold_since_ = base::Clock::now();
  upcoming_ = std::make_unique<Generation>(
      surroundings_, std::move(plan),
      Generation::Events{[this] { pump_.schedule(); },
                         [this](std::uint64_t worker_id, const std::string& why) {
                           workers_.pause_forks();
                           base::log_warn("program={} cannot fork worker={}: {}; classic for now",
                                          program_, worker_id, why);
                         },
                         [this](std::uint64_t worker_id, const std::string& difference) {
                           workers_.verified(worker_id, difference);
                         }});
  pump_.schedule();
}

void Pool::adopt_upcoming() {
  if (upcoming_ == nullptr || upcoming_->warmth() == Warmth::warming) return;
  if (keep_active_instead()) return;
  workers_.serve(upcoming_.get());
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  active_ = std::move(upcoming_);
  cold_since_ = base::Clock::now();
}

// A change of a file has ended the old generation already; one that still serves answers rightly.
bool Pool::keep_active_instead() {
  failed_steps_ = upcoming_->steps();
  if (upcoming_->warmth() != Warmth::cold || !warm()) return false;
  failed_settings_ = upcoming_->plan().settings;
  failed_at_ = base::Clock::now();
  base::log_warn("program={} gen={}: could not be started: {}; generation {} serves on", program_,
                 upcoming_->plan().number, upcoming_->cold_reason(), active_->plan().number);
  outgoing_.push_back(std::move(upcoming_));
  return true;
}

void Pool::cool_down() {
  calm_timer_.stop();
  workers_.serve(nullptr);
  if (active_ != nullptr) outgoing_.push_back(std::move(active_));
  if (upcoming_ != nullptr) outgoing_.push_back(std::move(upcoming_));
  pump_.schedule();
}

void Pool::demote_if_due() {
  if (!demotion_.empty() || !warm() || active_->reset() != config::Reset::rewind) return;
  if (!workers_.retirements().more_than(settings_.rewind.max_retired)) return;
  demotion_ = workers_.retirements().describe();
  base::log_warn(
      "program={} gen={}: {}; it gets reset = fork from here on (rewind.max_retired is {})",
      program_, active_->plan().number, demotion_, settings_.rewind.max_retired);
  start_generation();
}

void Pool::on_note(const message::Received& note) {
  if (note.note_kind == NOTE_WARNING) {
    base::log_warn("program={} {}", program_, base::printable(note.text, 300));
  }
  if (note.note_kind == NOTE_SHALLOWER && active_ != nullptr) {
    active_->demote(base::printable(note.text, 300));
  }
  if (note.note_kind != NOTE_LOADED || settings_.learn == config::Learn::none) return;
  if (learned_.size() >= kLearnedMax) return;
  if (is_module_name(note.text) && learned_.insert(note.text).second) {
    learned_more_ = true;
    pump_.schedule();
  }
}

}  // namespace pool
