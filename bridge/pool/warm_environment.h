// What a generation is made from, and the environment that its zygote starts with before any
// request is known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "policy/start_variables.h"
#include "pool/subject.h"
#include "worker/executable.h"
#include "worker/starter.h"

namespace pool {

// any: as deep as possible. deepest: at its language's own level, or it does not come up.
enum class Depth { any, deepest };

// What makes a generation, fixed for its life.
struct GenerationPlan {
  std::uint64_t number = 0;
  Subject subject;
  worker::Executable executable;
  config::ProgramSettings settings;
  // Why it gets reset = fork, whatever the settings say; empty if it does not have to.
  std::string demotion{};
  policy::ConstantVariables constants{};  // from a request, or empty
  std::vector<std::string> learned;       // modules to load before the checkpoint, besides preload
  std::vector<std::string> restless{};    // files that nothing may look at before the checkpoint
  bool enclosed = false;                  // its processes are in a cgroup for the program
  Depth depth = Depth::any;               // until it has come up
};

// One zygote of a pool, or what takes its place. A worker can be compared only with its own zygote.
struct ZygoteId {
  std::uint64_t generation = 0;
  unsigned start = 0;
  bool operator==(const ZygoteId&) const = default;
};

// An environment in the form that execve() takes.
struct WarmEnvironment {
  std::string block;
  std::uint32_t count = 0;

  void add(std::string_view name, std::string_view value);
  // Takes effect before another variable of that name.
  void add_first(std::string_view name, std::string_view value);
};

// The variables that a request brings ("K=V\0...", borrowed), changed as env(1) in the program's
// first line, or its shell, would change them: each assignment replaces the variable of that name,
// or is added at the end; dash drops what is not a name to it.
class RequestVariables {
 public:
  RequestVariables(std::string_view environment, std::uint32_t count,
                   const worker::Executable& executable);
  RequestVariables(const RequestVariables&) = delete;
  RequestVariables& operator=(const RequestVariables&) = delete;
  std::string_view block() const { return block_; }
  std::uint32_t count() const { return count_; }

 private:
  WarmEnvironment changed_;  // empty if there are no assignments
  std::string_view block_;
  std::uint32_t count_;
};

// When the functions of its libraries are bound to a program. early: otherwise each request binds
// again what it calls; lazy: for a program that lacks a function which it never calls.
enum class Binding { early, lazy };

// What a zygote has to do, besides its program's settings.
struct WarmStart {
  const std::string& program;  // its path, or what its processes are called
  const std::string& adapters;
  config::Level level;
  config::Reset reset;
  worker::Making making = worker::Making::forked;
  Binding binding = Binding::early;
  std::vector<std::string> restless{};
  std::uint32_t ignored = 0;  // signals that it starts with, bit 0 is signal 1
};

// The variables in launched, and those that make the checkpoint library stop at start's level and
// do its reset; the program sees none of the latter.
WarmEnvironment warm_environment(policy::LaunchVariables launched,
                                 const config::ProgramSettings& settings, const WarmStart& start);

// What a program that speaks FastCGI starts with. A request's variables come with the request.
WarmEnvironment fastcgi_environment(policy::LaunchVariables launched, worker::Language language);

}  // namespace pool
