// What a pool is about: a program, or what a program executes in the middle of its requests.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "worker/wrapped.h"

namespace pool {

struct Subject {
  // A program, by its path.
  Subject(std::string program = {}) : home(std::move(program)), title(home) {}
  // What that program executes.
  Subject(std::string program, worker::Executed what)
      : home(std::move(program)), title(home + " > " + what.name()), executed(std::move(what)) {}

  std::string home;   // the program's path: its roots, user, sandbox and limits hold
  std::string title;  // in logs and in `status`
  std::optional<worker::Executed> executed{};
};

}  // namespace pool
