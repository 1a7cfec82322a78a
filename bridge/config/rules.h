// What must hold between settings, beyond each one's own range.
#pragma once

#include <vector>

#include "config/section.h"
#include "config/settings.h"

namespace config {

// Complains in section about what can't stand together in settings, which it was read into.
void check_bridge(Section& section, const BridgeSettings& settings);

// The same for [defaults] and [[program]]. An inherited workers.spare is lowered to a workers.max
// that the section gives.
void check_program(Section& section, ProgramSettings& settings);

// What a [[program]] must say, and that its name is not that of one of earlier.
void check_naming(Section& section, const ProgramSettings& settings,
                  const std::vector<ProgramSettings>& earlier);

}  // namespace config
