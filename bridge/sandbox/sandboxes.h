// The sandboxes of a bridge's programs: what this machine can enforce of the settings' wishes, and
// what a process's start has to do for it.
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

// What the processes of one program are started with. Never changes once it is made.
class Sandbox {
 public:
  Sandbox(Namespaces namespaces, base::UniqueFd steps);

  // The descriptor of its list of steps (STEP_JOIN and so on), which cgibridge-step-down gets.
  int steps_fd() const { return steps_.get(); }
  // All descriptors that cgibridge-step-down needs open: the list's, and those that the list names.
  const std::vector<int>& fds() const { return fds_; }

 private:
  const Namespaces namespaces_;
  const base::UniqueFd steps_;
  std::vector<int> fds_;
};

// One per daemon. A program gets its own namespaces at its first start. It keeps them, with what is
// in its private /tmp, until its wishes change or the bridge ends.
class Sandboxes {
 public:
  // adapters: the folder with cgibridge-step-down, which stays visible to programs.
  Sandboxes(const loop::Clock& clock, const std::string& adapters);

  // The sandbox for starting program, a path. nullptr: it wants none. Refuses with 500 what this
  // machine cannot enforce, unless the settings accept less (best_effort). Shared, because
  // processes of a generation may still be started in it when other settings have come into force.
  cgi::OrRefusal<std::shared_ptr<const Sandbox>> of(const Wish& wish, const std::string& program);

  // How the program's sandbox is enforced, or why it cannot be; empty: none was made. For people to
  // read.
  std::string words_of(const std::string& program) const;

  // What is wrong with the wishes in settings, one line each.
  static std::vector<std::string> problems_of(const config::Settings& settings);

  // How this machine enforces the wishes in settings, or why not: one sentence for each section.
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
    std::string words;  // how it is enforced
    base::TimePoint since{};
  };
  Made make(const Wish& wish, const std::string& program) const;

  const loop::Clock& clock_;
  const std::string adapters_;
  std::unordered_map<std::string, Made> programs_;
};

}  // namespace sandbox
