#include "admin/settings_keeper.h"

#include "base/log.h"

namespace admin {
namespace {

constexpr std::chrono::milliseconds kSettleTime{100};
constexpr std::chrono::milliseconds kWatchAgain{1000};

// A pattern for fnmatch(3) that matches only path.
std::string exact_pattern(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

SettingsKeeper::SettingsKeeper(loop::Loop& loop, std::string path, config::Settings settings,
                               std::function<void()> on_change, Check check)
    : path_(std::move(path)),
      settings_(std::make_shared<const config::Settings>(std::move(settings))),
      started_with_(settings_),
      on_change_(std::move(on_change)),
      check_(std::move(check)),
      watch_(loop, [this](const base::Status& watching) { on_file_event(watching); }),
      watch_again_(loop, [this] { watch(); }),
      settle_timer_(loop, [this] {
        if (pending_) (void)reload();
      }) {
  watch();
}

void SettingsKeeper::watch() {
  if (path_.empty()) return;
  const bool was_watched = watched_;
  take_note(watch_.start(path_));
  // Changes in the meantime were not reported.
  if (!was_watched && watched_) on_file_event(base::Done{});
}

// An editor may have made a new file that only the editor may read yet; the kernel may have no
// watches left.
void SettingsKeeper::take_note(const base::Status& watching) {
  if (watched_ && !watching) {
    base::log_warn(
        "{}: changes of the settings are only taken over at SIGHUP or `reload`, until it can be "
        "watched again",
        watching.error().message);
  }
  watched_ = watching.ok();
  if (!watched_) watch_again_.start(kWatchAgain);
}

void SettingsKeeper::on_file_event(const base::Status& watching) {
  take_note(watching);
  pending_ = true;
  settle_timer_.start(kSettleTime);
}

std::shared_ptr<const config::Settings> SettingsKeeper::now() {
  if (pending_) {
    auto outcome = config::load_file(path_);
    // An error now may be due to half of a change; reload() reports it once the file has settled.
    if (outcome && check_(outcome.settings()).empty()) take_over(outcome.take());
  }
  return settings_;
}

ReloadOutcome SettingsKeeper::reload() {
  if (path_.empty()) return refuse({"the bridge was started without a settings file"});
  pending_ = false;
  auto outcome = config::load_file(path_);
  std::vector<std::string> problems;
  if (!outcome) {
    for (const config::Problem& problem : outcome.problems()) {
      problems.push_back(config::to_string(problem));
    }
  } else {
    for (const std::string& problem : check_(outcome.settings())) {
      problems.push_back(path_ + ": " + problem);
    }
  }
  if (!problems.empty()) return refuse(std::move(problems));
  if (!take_over(outcome.take())) base::log_info("{}: read again, nothing has changed", path_);
  return {.taken_over = true, .problems = {}};
}

ReloadOutcome SettingsKeeper::refuse(std::vector<std::string> problems) {
  for (const std::string& problem : problems) base::log_error("{}", problem);
  base::log_error("{} is refused: {} error(s); what runs goes on with the settings it has", path_,
                  problems.size());
  refused_ = problems;
  return {.taken_over = false, .problems = std::move(problems)};
}

bool SettingsKeeper::take_over(config::Settings loaded) {
  pending_ = false;
  refused_.clear();
  if (loaded == *settings_) return false;
  for (const std::string& name : config::waiting_for_restart(*settings_, loaded)) {
    base::log_warn("{}: {} has changed, which only a restart or an upgrade takes over", path_,
                   name);
  }
  settings_ = std::make_shared<const config::Settings>(std::move(loaded));
  base::log_info("{}: the changed settings are in force", path_);
  on_change_();
  return true;
}

std::vector<std::string> SettingsKeeper::waiting_for_restart() const {
  return config::waiting_for_restart(*started_with_, *settings_);
}

base::Status SettingsKeeper::switch_mode(const std::string& program, config::Mode mode) {
  config::Settings changed = *settings_;
  config::ProgramSettings* found = nullptr;
  for (config::ProgramSettings& candidate : changed.programs) {
    if (candidate.name == program) found = &candidate;
  }
  if (found == nullptr && program == "defaults") found = &changed.defaults;
  if (found == nullptr) {
    if (program.empty() || program.front() != '/') {
      return base::Error{"no [[program]] has the name \"" + program +
                         "\"; a program is meant by that name or by its absolute path"};
    }
    config::ProgramSettings own = changed.for_program(program);
    own.name.clear();
    own.match = exact_pattern(program);
    found = &*changed.programs.insert(changed.programs.begin(), std::move(own));
  }
  found->mode = mode;
  settings_ = std::make_shared<const config::Settings>(std::move(changed));
  base::log_info("program={}: mode {} until the settings file is next taken over", program,
                 config::to_string(mode));
  on_change_();
  return base::Done{};
}

}  // namespace admin
