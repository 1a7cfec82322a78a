// What an operator probably did not mean, in valid settings.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace cli {

// One sentence for each: sections that can never apply, patterns that mean something else than they
// seem to, programs that do not exist. Looks at the file system, as far as the user who asks may.
std::vector<std::string> doubts_about(const config::Settings& settings);

}  // namespace cli
