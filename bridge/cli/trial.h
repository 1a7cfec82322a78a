// Runs a program in every arm, compares its answers and measures them: the part of `check` that
// starts processes.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cli/findings.h"

namespace cli {

struct TrialPlan {
  std::string program;                            // its path, from name_of_program()
  std::vector<AskedRequest> requests;             // with their bodies
  std::vector<Assignment> variables{};            // meta-variables of every request
  std::vector<Assignment> settings_env{};         // variables that only the settings may set
  config::Level level = config::Level::compiled;  // the deepest level to try
  unsigned runs = 20;                             // of each request in each arm, for the times
  std::chrono::seconds timeout{60};               // for everything
};

// Called before each part of the work, "rewind: comparing", to inform a person who waits.
using Progress = std::function<void(const std::string& what)>;

// Fills in everything in Findings that is not already in the plan. Whatever was started has ended
// when it returns, also after SIGINT, SIGTERM and SIGHUP (findings.problem is then set) and when
// the time was up. To be called once in a process: the process becomes the parent of what its
// programs leave behind.
Findings run_trial(const TrialPlan& plan, const Progress& progress);

}  // namespace cli
