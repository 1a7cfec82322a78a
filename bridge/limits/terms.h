// The terms under which a program is started: as which user, with which kernel limits.
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

// A limit for setrlimit(). hard = RLIM_INFINITY: the hard limit stays as it is.
struct Rlimit {
  int resource = 0;
  ::rlim_t soft = 0;
  ::rlim_t hard = 0;
  const char* action = "";  // "set limits.core"

  bool operator==(const Rlimit&) const = default;
};

// What a program is started with; a value, made for each start. Default-constructed: like the
// bridge itself.
struct Terms {
  std::optional<Identity> identity;  // if other than the bridge's own
  bool no_new_privileges = false;
  // Shared: see sandbox::Sandboxes::of().
  std::shared_ptr<const sandbox::Sandbox> sandbox;
  std::array<Rlimit, 6> rlimits{};
  std::size_t rlimit_count = 0;
  // The path of cgibridge-step-down (adapters/step_down/). Used if steps_down().
  std::string step_down;
  // Whether cgibridge-step-down is executed before the program.
  bool steps_down() const { return identity.has_value() || sandbox; }
};

// The same terms as the bridge itself.
inline const Terms kOwnTerms{};

// What the settings alone determine: everything except the identity.
Terms terms_of(const config::ProgramSettings& settings);

// Removes limits.cpu_time: for processes that serve many requests and do not restart the count for
// each.
void without_cpu_time(Terms& terms);

// Called in the process that is about to become the program, between vfork() and exec(): system
// calls only. Returns nullptr, or what could not be done ("set limits.core"); errno says why.
const char* apply(const Terms& terms);

// What is executed instead of `file argv...` in cwd: it runs the same, as terms.identity and in
// terms.sandbox.
std::vector<std::string> step_down_argv(const Terms& terms, const std::string& cwd,
                                        const std::string& file,
                                        const std::vector<std::string>& argv);

// A program of another user may open its standard streams by their names, /dev/stdin and so on, as
// it may when the web server starts it: so pipes and files among fds are given to that user.
void give_streams(const Identity& identity, const int* fds, std::size_t count);

}  // namespace limits
