// Runs a program in every arm, compares its answers and measures them: the process part of `check`.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/findings.h"

namespace cli {

struct TrialPlan {
  std::string program;                            // its path, as name_of_program() says it
  std::vector<AskedRequest> requests;             // with their bodies
  std::vector<Assignment> variables{};            // meta-variables of every request
  std::vector<Assignment> settings_env{};         // what only the settings may set
  config::Level level = config::Level::compiled;  // the deepest that is tried
  unsigned runs = 20;                             // of each request in each arm, for the times
  std::chrono::seconds timeout{60};               // for all of it
};

// Told before each part of the work, "rewind: comparing": for a person who waits.
using Progress = std::function<void(const std::string& what)>;

// Fills in all of Findings that does not stand in the plan already. Whatever was started has ended
// when it returns, also after SIGINT, SIGTERM and SIGHUP (findings.problem is then set) and when
// the time was over. Called once in a process: it becomes the parent of what its programs leave
// behind.
Findings run_trial(const TrialPlan& plan, const Progress& progress);

}  // namespace cli
