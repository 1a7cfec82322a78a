// What `doctor` found, as one screen for people. Pure.
#pragma once

#include <string>

#include "cli/terminal.h"
#include "doctor/finding.h"

namespace cli {

// title: what was looked at.
std::string doctor_report(const std::string& title, const doctor::Findings& findings,
                          const Terminal& terminal);

}  // namespace cli
