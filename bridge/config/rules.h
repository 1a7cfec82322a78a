// What must hold between settings, beyond each setting's own range.
#pragma once

#include <vector>

#include "config/section.h"
#include "config/settings.h"

namespace config {

// Complains in section about conflicts in settings, into which it was read.
void check_bridge(Section& section, const BridgeSettings& settings);

// The same for [defaults] and [[program]]. An inherited workers.spare is lowered to the workers.max
// that the section gives.
void check_program(Section& section, ProgramSettings& settings);

// Checks what a [[program]] must contain, and that its name differs from those of earlier ones.
void check_naming(Section& section, const ProgramSettings& settings,
                  const std::vector<ProgramSettings>& earlier);

}  // namespace config
