// Decides which side answers a request, and whether the other side is to answer it as well.
#pragma once

#include "cgi/variables.h"
#include "compare/comparison.h"
#include "config/settings.h"

namespace gateway {

// How the program's requests are answered now: by its mode, or by the mode that promotion has
// reached.
config::Mode effective_mode(const config::ProgramSettings& settings,
                            const compare::Promotion& promotion);

// Starts promotion again if the program's version, mode or rule differs from those it began with.
// version: a number that stands for this version of the program's file and for no other.
void keep_promotion(const config::ProgramSettings& settings, std::uint64_t version,
                    compare::Comparison& comparison);

struct ArmChoice {
  compare::Side side = compare::Side::persistent;
  bool shadowed = false;  // the persistent side is to answer it as well, to be compared
};

// Decides in this order: a pin that may be trusted; the mode. A request whose share was drawn but
// that must not be shadowed is counted in comparison.shadow.
ArmChoice choose_arm(const config::ProgramSettings& settings, const cgi::Variables& variables,
                     compare::Comparison& comparison);

}  // namespace gateway
