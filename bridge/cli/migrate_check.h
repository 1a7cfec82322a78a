// Runs `cgibridge check` on a program, as a process of its own, because a trial is only made once
// in a process.
#pragma once

#include <chrono>
#include <string>

#include "migrate/proposal.h"

namespace cli {

// user: the user to try it as ("NAME", "NAME:GROUP", "owner") if this is root; without one, root
// does not try it. Everybody else tries it as themselves. variables: what the web server sends with
// each request. The process has ended when it returns.
migrate::Checked check_program(const std::string& program, const std::string& user,
                               const std::vector<std::pair<std::string, std::string>>& variables,
                               std::chrono::seconds timeout);

// What `check --json` printed.
migrate::Checked parse_checked(const std::string& json);

}  // namespace cli
