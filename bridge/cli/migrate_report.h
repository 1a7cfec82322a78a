// What `migrate` found and proposes: for people, as JSON, and as patches. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/terminal.h"
#include "migrate/proposal.h"

namespace cli {

// What the report is made of.
struct Migration {
  migrate::Findings findings;
  migrate::Proposal proposal;
  std::string settings_file;                                      // where the settings go
  enum class Settings { none, exist } settings = Settings::none;  // whether that file is there
  enum class Tried { yes, no } tried = Tried::yes;                // whether programs were checked
};

// Files that could not be read, of both servers.
std::vector<migrate::Problem> problems_of(const migrate::Findings& findings);

std::string migration_text(const Migration& migration, const Terminal& terminal);
nlohmann::json migration_json(const Migration& migration);

// What patch(1) applies with -p1 in "/", after lines that it ignores. bytes: unchanged, or, for
// a terminal, such that no byte steers it.
enum class PatchBytes { unchanged, visible };
std::string migration_diff(const Migration& migration, PatchBytes bytes);

}  // namespace cli
