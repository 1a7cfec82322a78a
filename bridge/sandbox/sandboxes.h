// The sandboxes of a bridge's programs: what this machine can hold of what the settings wish, and
// what a start of a process has to do for it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cgi/refusal.h"
#include "config/settings.h"
#include "loop/clock.h"
#include "sandbox/namespaces.h"
#include "sandbox/plan.h"

namespace sandbox {

// What one program's processes are started with. Never changed once it is made.
class Sandbox {
 public:
  Sandbox(Namespaces namespaces, base::UniqueFd steps);

  // Of its list of steps (STEP_JOIN and so on), which cgibridge-step-down is given.
  int steps_fd() const { return steps_.get(); }
  // All that cgibridge-step-down needs open: the list's and those that the list names.
  const std::vector<int>& fds() const { return fds_; }

 private:
  const Namespaces namespaces_;
  const base::UniqueFd steps_;
  std::vector<int> fds_;
};

// One per daemon. A program gets its own namespaces at its first start and keeps them, and what is
// in its private /tmp, until its wishes change or the bridge ends.
class Sandboxes {
 public:
  // adapters: the folder with cgibridge-step-down, which programs see as well.
  Sandboxes(const loop::Clock& clock, const std::string& adapters);

  // For a start of program, by its path. nullptr: it wishes none. Refuses with 500 what
  // this machine cannot hold, unless the settings make do with less (best_effort). Shared, as a
  // generation's processes start in it while other settings have come into force.
  cgi::OrRefusal<std::shared_ptr<const Sandbox>> of(const Wish& wish, const std::string& program);

  // How the program's is held, or why it cannot be; empty: none was made. For people.
  std::string words_of(const std::string& program) const;

  // What is wrong with the wishes of settings, a line each.
  static std::vector<std::string> problems_of(const config::Settings& settings);

  // How this machine holds the wishes of settings, or why not: a sentence for each section.
  struct Word {
    bool held;
    std::string text;
  };
  std::vector<Word> words_for(const config::Settings& settings) const;

 private:
  struct Made {
    Wish wish;
    std::shared_ptr<const Sandbox> sandbox;  // empty: refused
    std::string why;
    std::string words;  // how it is held
    base::TimePoint since{};
  };
  Made make(const Wish& wish, const std::string& program) const;

  const loop::Clock& clock_;
  const std::string adapters_;
  std::unordered_map<std::string, Made> programs_;
};

}  // namespace sandbox
