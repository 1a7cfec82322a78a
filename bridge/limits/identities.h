// Which terms a program is started under, and why not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cgi/refusal.h"
#include "config/settings.h"
#include "limits/owner_rules.h"
#include "limits/terms.h"
#include "limits/users.h"
#include "sandbox/sandboxes.h"

namespace limits {

// One per daemon; outlives the pools. Asks the system for users and, for `user = "owner"`, the file
// system about the program's path.
class Identities {
 public:
  // adapters: the folder with cgibridge-step-down.
  Identities(const loop::Clock& clock, const std::string& adapters);

  // To be called when others come into force. Users are looked up again.
  void use(const config::BridgeSettings& settings);

  // For a start of program, by its path, now. Refuses with 403 a program that must not run
  // as its owner, with 500 a user that is not known or whom the bridge cannot become, and a sandbox
  // that cannot be had.
  cgi::OrRefusal<Terms> terms_for(const config::ProgramSettings& settings,
                                  const std::string& program);

  // How the program's sandbox is held, or why it cannot be; empty: it has none.
  std::string sandbox_of(const std::string& program) const { return sandboxes_.words_of(program); }
  // For a request that a process answers which runs already: with `user = "owner"` the program may
  // no longer meet suEXEC's conditions. Looks at the file system; nullopt at once for other users.
  std::optional<cgi::Refusal> why_no_longer(const config::ProgramSettings& settings,
                                            const std::string& program);

  // Starts and requests that were refused.
  std::uint64_t refused() const { return refused_; }

  // What is wrong with the users and system calls that the settings name, a line each:
  // "program[2].user: ...".
  static std::vector<std::string> problems_of(const config::Settings& settings);
  // What an operator should know of these settings at the start, a sentence each.
  std::vector<std::string> warnings_for(const config::Settings& settings);
  // Says in the log how the sandboxes that the settings wish are held, and what cannot be.
  void tell_of_sandboxes(const config::Settings& settings) const;

 private:
  // Makes them those of the settings' user.
  std::optional<cgi::Refusal> add_identity(Terms& terms, const config::ProgramSettings& settings,
                                           const std::string& program);
  cgi::OrRefusal<Identity> identity_of(const config::ProgramSettings& settings,
                                       const std::string& program);
  cgi::OrRefusal<Identity> owner_of(const std::string& program);
  static bool is_own(const Identity& identity);

  const std::string step_down_;
  const bool may_change_;
  OwnerFloors floors_;
  Users users_;
  sandbox::Sandboxes sandboxes_;
  std::uint64_t refused_ = 0;
};

}  // namespace limits
