// Where the adapters are, if the settings do not say.
#pragma once

#include <string>

namespace cli {

// The folder with the checkpoint library, found from this executable's location: next to it in a
// build tree, or as installed. If it is not found, the last place that was tried.
std::string adapters_folder();

}  // namespace cli
