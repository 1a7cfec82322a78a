// What a generation is made of, and the environment that its zygote starts with, before any request
// is known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "policy/start_variables.h"
#include "worker/executable.h"
#include "worker/starter.h"

namespace pool {

// any: as deep as it can be. deepest: at its language's own level, or it does not come up.
enum class Depth { any, deepest };

// What makes a generation, fixed for its life.
struct GenerationPlan {
  std::uint64_t number = 0;
  std::string program;
  worker::Executable executable;
  config::ProgramSettings settings;
  // Why it gets reset = fork, whatever the settings say; empty if it does not.
  std::string demotion{};
  policy::ConstantVariables constants{};  // of a request, or empty
  std::vector<std::string> learned;       // modules to load before the checkpoint, beside preload
  bool enclosed = false;                  // its processes are in a cgroup of the program's
  Depth depth = Depth::any;               // until it has come up
};

// One zygote of a pool, or what stands for it. A worker can be compared with its own only.
struct ZygoteId {
  std::uint64_t generation = 0;
  unsigned start = 0;
  bool operator==(const ZygoteId&) const = default;
};

// An environment as execve() takes it.
struct WarmEnvironment {
  std::string block;
  std::uint32_t count = 0;

  void add(std::string_view name, std::string_view value);
  // Counts before another of that name.
  void add_first(std::string_view name, std::string_view value);
};

// What a request brings ("K=V\0...", borrowed) as env(1) in the program's first line would hand it
// on: each assignment in the place of the variable of that name, or behind the others.
class RequestVariables {
 public:
  RequestVariables(std::string_view environment, std::uint32_t count,
                   const std::vector<std::string>& assignments);
  RequestVariables(const RequestVariables&) = delete;
  RequestVariables& operator=(const RequestVariables&) = delete;
  std::string_view block() const { return block_; }
  std::uint32_t count() const { return count_; }

 private:
  WarmEnvironment changed_;  // empty if there are no assignments
  std::string_view block_;
  std::uint32_t count_;
};

// When the functions of its libraries are bound to a program: early, or each request binds again
// what it calls; lazy for a program that lacks a function which it never calls.
enum class Binding { early, lazy };

// What a zygote is to do, beside its program's settings.
struct WarmStart {
  const std::string& program;  // its path
  const std::string& adapters;
  config::Level level;
  config::Reset reset;
  worker::Making making = worker::Making::forked;
  Binding binding = Binding::early;
};

// launched, and the variables that make the checkpoint library stop at start's level and do its
// reset; the program sees none of these.
WarmEnvironment warm_environment(policy::LaunchVariables launched,
                                 const config::ProgramSettings& settings, const WarmStart& start);

// What a program that speaks FastCGI starts with. What a request brings comes with the request.
WarmEnvironment fastcgi_environment(policy::LaunchVariables launched, worker::Language language);

}  // namespace pool
