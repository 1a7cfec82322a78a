// Where the adapters are, when the settings do not say it.
#pragma once

#include <string>

namespace cli {

// The folder with the checkpoint library, found from where this executable is: beside it in a build
// tree, or as it was installed. If it is nowhere, the place where it was looked for last.
std::string adapters_folder();

}  // namespace cli
