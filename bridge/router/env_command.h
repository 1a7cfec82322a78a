// The command line of env(1) in a "#!" line.
#pragma once

#include <string_view>

#include "base/result.h"
#include "router/first_line.h"

namespace router {

// argument: the single argument that the kernel gives env. Fails as interpreter_of() does.
base::Result<Interpreter> interpreter_behind_env(std::string_view argument);

}  // namespace router
