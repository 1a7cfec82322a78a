// What `check` found out, as a report for people and as JSON for scripts. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/findings.h"
#include "cli/terminal.h"

namespace cli {

// A page of at most terminal.columns columns, except for the diff and the stanza, which are quoted
// unchanged.
std::string report_text(const Findings& findings, const Verdict& verdict, const Terminal& terminal);

// Everything that was found, and the stanza.
nlohmann::json report_json(const Findings& findings, const Verdict& verdict);

}  // namespace cli
