// Which side answers a request, and whether the other is to answer it as well.
#pragma once

#include "cgi/variables.h"
#include "compare/comparison.h"
#include "config/settings.h"

namespace gateway {

// How the program's requests are answered now: its mode, or where promotion has brought it.
config::Mode effective_mode(const config::ProgramSettings& settings,
                            const compare::Promotion& promotion);

// Begins promotion anew if the program has another version, mode or rule than it began with.
// version: of the program's file, as a number that another version does not have.
void keep_promotion(const config::ProgramSettings& settings, std::uint64_t version,
                    compare::Comparison& comparison);

struct ArmChoice {
  compare::Side side = compare::Side::persistent;
  bool shadowed = false;  // the persistent side is to answer it as well, to be compared
};

// In this order: a pin that may be believed; the mode. What may not be shadowed though its share
// was drawn is counted in comparison.shadow.
ArmChoice choose_arm(const config::ProgramSettings& settings, const cgi::Variables& variables,
                     compare::Comparison& comparison);

}  // namespace gateway
