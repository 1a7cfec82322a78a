#include "cli/commands.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/log.h"
#include "cli/adapters_folder.h"
#include "cli/doubts.h"
#include "cli/printed.h"
#include "config/load.h"
#include "config/show.h"
#include "limits/identities.h"
#include "router/roots.h"
#include "sandbox/sandboxes.h"

namespace cli {
namespace {

// As far as this machine, and the user who asks, can enforce them: the bridge's user may be able to
// enforce more or less.
void tell_of_sandboxes(const config::Settings& settings) {
  const std::string& adapters = settings.bridge.adapters;
  const sandbox::Sandboxes sandboxes(loop::system_clock(),
                                     adapters.empty() ? adapters_folder() : adapters);
  for (const auto& word : sandboxes.words_for(settings)) fmt::print("{}\n", word.text);
}

int run_config(const Invocation& invocation) {
  const auto settings =
      checked_settings(invocation.config_path, invocation.command == Command::config_check
                                                   ? UsersInSettings::must_be_known
                                                   : UsersInSettings::any);
  if (!settings) return 1;
  if (invocation.command == Command::config_show) {
    fmt::print("{}", config::show(*settings));
  } else {
    fmt::print("{}: no errors\n", invocation.config_path);
    const router::Roots roots(settings->bridge.roots);
    for (const std::string& problem : roots.problems()) {
      fmt::print("bridge.roots: {}\n", problem);
    }
    for (const std::string& doubt : doubts_about(*settings)) fmt::print("{}\n", doubt);
    tell_of_sandboxes(*settings);
  }
  return 0;
}

}  // namespace

std::optional<config::Settings> checked_settings(const std::string& path, UsersInSettings users) {
  auto loaded = config::load_file(path);
  if (!loaded) {
    for (const config::Problem& problem : loaded.problems()) {
      fmt::print(stderr, "{}\n", config::to_string(problem));
    }
    fmt::print(stderr, "{} error(s)\n", loaded.problems().size());
    return std::nullopt;
  }
  const auto unknown = users == UsersInSettings::must_be_known
                           ? limits::Identities::problems_of(loaded.settings())
                           : std::vector<std::string>();
  for (const std::string& problem : unknown) fmt::print(stderr, "{}: {}\n", path, problem);
  if (unknown.empty()) return loaded.take();
  fmt::print(stderr, "{} error(s)\n", unknown.size());
  return std::nullopt;
}

int fail(const std::string& why) {
  fmt::print(stderr, "cgibridge: {}\n", base::printable(why, why.npos));
  return 1;
}

namespace {

int carry_out(const Invocation& invocation) {
  switch (invocation.command) {
    case Command::config_check:
    case Command::config_show:
      return run_config(invocation);
    case Command::config_reference:
      fmt::print("{}", config::reference());
      return 0;
    case Command::config_manual:
      fmt::print("{}", config::manual_page(CGIBRIDGE_VERSION));
      return 0;
    case Command::fcgiwrap:
      return print_fcgiwrap(invocation.fcgiwrap);
    case Command::doctor:
      return run_doctor(invocation);
    case Command::check:
      return run_check(invocation);
    case Command::migrate:
      return run_migrate(invocation);
    case Command::try_script:
      return run_try(invocation);
    case Command::replay:
      return run_replay(invocation);
    default:
      return run_client_command(invocation);
  }
}

}  // namespace

int run(const Invocation& invocation) {
  open_missing_streams();
  return exit_code_of([&] { return carry_out(invocation); });
}

}  // namespace cli
