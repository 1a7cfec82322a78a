// Under which terms a program is started, or why it is not started at all.
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

// One per daemon; outlives the pools. Looks users up in the system and, for `user = "owner"`,
// examines the program's path in the file system.
class Identities {
 public:
  // adapters: the folder with cgibridge-step-down.
  Identities(const loop::Clock& clock, const std::string& adapters);

  // To be called when other settings come into force. Users are then looked up again.
  void use(const config::BridgeSettings& settings);

  // The terms for starting program, a path, now. Refuses with 403 a program that must not run as
  // its owner, and with 500 a user that is unknown or that the bridge cannot become, and a sandbox
  // that is not available.
  cgi::OrRefusal<Terms> terms_for(const config::ProgramSettings& settings,
                                  const std::string& program);

  // How the program's sandbox is enforced, or why it cannot be; empty: it has none.
  std::string sandbox_of(const std::string& program) const { return sandboxes_.words_of(program); }
  // For a request that is answered by a process that already runs: with `user = "owner"` the
  // program may no longer meet suEXEC's conditions. Examines the file system; nullopt at once for
  // other users.
  std::optional<cgi::Refusal> why_no_longer(const config::ProgramSettings& settings,
                                            const std::string& program);

  // How many starts and requests were refused.
  std::uint64_t refused() const { return refused_; }

  // What is wrong with the users and system calls that the settings name, one line each:
  // "program[2].user: ...".
  static std::vector<std::string> problems_of(const config::Settings& settings);
  // What an operator should know about these settings at startup, one sentence each.
  std::vector<std::string> warnings_for(const config::Settings& settings);
  // Logs how the sandboxes in the settings are enforced, and which cannot be.
  void tell_of_sandboxes(const config::Settings& settings) const;

 private:
  // Sets the identity in terms to the settings' user.
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
