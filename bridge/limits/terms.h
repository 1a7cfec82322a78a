// Under which terms a program is started: as whom, with which limits of the kernel.
#pragma once

#include <sys/resource.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/program_settings.h"
#include "limits/identity.h"
#include "sandbox/sandboxes.h"

namespace limits {

// One of setrlimit()'s. hard = RLIM_INFINITY: the hard one stays as it is.
struct Rlimit {
  int resource = 0;
  ::rlim_t soft = 0;
  ::rlim_t hard = 0;
  const char* action = "";  // "set limits.core"

  bool operator==(const Rlimit&) const = default;
};

// What a program is started with; a value, made for each start. Default-made: as the bridge itself.
struct Terms {
  std::optional<Identity> identity;  // another than the bridge's own
  bool no_new_privileges = false;
  // Shared: see sandbox::Sandboxes::of().
  std::shared_ptr<const sandbox::Sandbox> sandbox;
  std::array<Rlimit, 6> rlimits{};
  std::size_t rlimit_count = 0;
  // The path of cgibridge-step-down (adapters/step_down/). Of use if steps_down().
  std::string step_down;
  // Whether that is executed in front of the program.
  bool steps_down() const { return identity.has_value() || sandbox; }
};

// As the bridge itself.
inline const Terms kOwnTerms{};

// What the settings say by themselves: all but the identity.
Terms terms_of(const config::ProgramSettings& settings);

// Takes limits.cpu_time out: for processes that serve many requests and do not count anew for each.
void without_cpu_time(Terms& terms);

// In the process that is about to become the program, between vfork() and exec(): system calls
// only. nullptr, or what could not be done ("set limits.core"); errno says why.
const char* apply(const Terms& terms);

// What is executed in place of `file argv...` in cwd: the same, as terms.identity and in
// terms.sandbox.
std::vector<std::string> step_down_argv(const Terms& terms, const std::string& cwd,
                                        const std::string& file,
                                        const std::vector<std::string>& argv);

// A program of another user may open its standard streams by their names, /dev/stdin and so on, as
// it may where the web server starts it: pipes and files among fds become his.
void give_streams(const Identity& identity, const int* fds, std::size_t count);

}  // namespace limits
