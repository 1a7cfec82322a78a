// The settings that hold now, and how a changed file becomes them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/load.h"
#include "config/settings.h"
#include "loop/path_watch.h"
#include "loop/timer.h"

namespace admin {

// What became of a reload.
struct ReloadOutcome {
  bool taken_over = false;
  std::vector<std::string> problems;  // why not, one line each
};

// Watches the file. A change is taken over by the next request at the latest; a file with an error
// in it is refused whole, every error goes to the log, and what runs goes on.
class SettingsKeeper {
 public:
  // What is wrong with settings that are well formed, but that this system cannot follow.
  using Check = std::function<std::vector<std::string>(const config::Settings&)>;

  // on_change runs after other settings have come into force.
  SettingsKeeper(loop::Loop& loop, std::string path, config::Settings settings,
                 std::function<void()> on_change, Check check);

  // For a request that begins now: a change of the file that was noticed is looked at first.
  std::shared_ptr<const config::Settings> now();

  // Reads the file at once.
  ReloadOutcome reload();

  // Another mode for a program, by its name or its path, until the file is next taken over.
  // Fails on a name or a path that no program can have.
  base::Status switch_mode(const std::string& program, config::Mode mode);

 private:
  void watch();
  void take_note(const base::Status& watching);
  void on_file_event(const base::Status& watching);
  ReloadOutcome refuse(std::vector<std::string> problems);
  bool take_over(config::Settings loaded);

  const std::string path_;
  std::shared_ptr<const config::Settings> settings_;
  std::function<void()> on_change_;
  const Check check_;
  bool pending_ = false;
  bool watched_ = true;
  loop::PathWatch watch_;
  loop::Timer watch_again_;  // while it cannot be watched
  // An editor may write a file in pieces: what is wrong with it is said once it has settled.
  loop::Timer settle_timer_;
};

}  // namespace admin
