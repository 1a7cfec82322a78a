// The current settings, and how a changed file takes effect.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/load.h"
#include "config/settings.h"
#include "loop/path_watch.h"
#include "loop/timer.h"

namespace admin {

// The result of a reload.
struct ReloadOutcome {
  bool taken_over = false;
  std::vector<std::string> problems;  // why not, one line each
};

// Watches the file. A change takes effect at the next request at the latest. A file with an error
// is refused as a whole: every error is logged, and the current settings stay.
class SettingsKeeper {
 public:
  // What is wrong with settings that are well formed but cannot be used on this system.
  using Check = std::function<std::vector<std::string>(const config::Settings&)>;

  // path: empty: there is no file, and nothing to reload.
  // on_change runs after other settings have taken effect.
  SettingsKeeper(loop::Loop& loop, std::string path, config::Settings settings,
                 std::function<void()> on_change, Check check);

  // For a request that begins now: if a change of the file was noticed, the file is read first.
  std::shared_ptr<const config::Settings> now();

  // Reads the file at once.
  ReloadOutcome reload();

  // Sets another mode for a program, by its name or its path, until the file next takes effect.
  // Fails for a name or a path that no program can have.
  base::Status switch_mode(const std::string& program, config::Mode mode);

  const std::string& path() const { return path_; }
  // Why the file, as it was last read, is refused; empty: it is in force.
  const std::vector<std::string>& refused() const { return refused_; }
  // The changed settings that take effect only after a restart or an upgrade.
  std::vector<std::string> waiting_for_restart() const;

 private:
  void watch();
  void take_note(const base::Status& watching);
  void on_file_event(const base::Status& watching);
  ReloadOutcome refuse(std::vector<std::string> problems);
  bool take_over(config::Settings loaded);

  const std::string path_;
  std::shared_ptr<const config::Settings> settings_;
  const std::shared_ptr<const config::Settings> started_with_;
  std::vector<std::string> refused_;
  std::function<void()> on_change_;
  const Check check_;
  bool pending_ = false;
  bool watched_ = true;
  loop::PathWatch watch_;
  loop::Timer watch_again_;  // while it cannot be watched
  // An editor may write a file in pieces: errors in it are reported once it has settled.
  loop::Timer settle_timer_;
};

}  // namespace admin
