// The environment that a zygote starts with, before any request is known.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "worker/executable.h"
#include "worker/starter.h"

namespace pool {

// The meta-variables that are the same for every request of a program on most sites, so that a
// program which reads them while it compiles (`use lib "$ENV{DOCUMENT_ROOT}/lib"`) can be warm.
using ConstantVariables = std::map<std::string, std::string>;

// Those of them that stand in a request's environment block ("K=V\0...").
ConstantVariables constant_variables(std::string_view environment);

// An environment as execve() takes it.
struct WarmEnvironment {
  std::string block;
  std::uint32_t count = 0;

  void add(std::string_view name, std::string_view value);
  // Counts before another of that name.
  void add_first(std::string_view name, std::string_view value);
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

// constants, then the operator's env and PATH, then the variables that make the checkpoint library
// stop at start's level and do its reset; the program sees none of these.
WarmEnvironment warm_environment(const ConstantVariables& constants,
                                 const config::ProgramSettings& settings, const WarmStart& start);

// What a program that speaks FastCGI starts with: the operator's env and PATH. What a request
// brings comes with the request.
WarmEnvironment fastcgi_environment(const config::ProgramSettings& settings,
                                    const worker::Executable& executable);

}  // namespace pool
