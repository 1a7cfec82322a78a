// Programs that are shell scripts which only execute another one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worker/executable.h"

namespace worker {

// What a process of the shell script program (an absolute path) becomes, if all that its shell does
// is fixed (router/exec_wrapper.h): the executable that a zygote can execute at once, with what the
// shell adds to the environment in its assignments. shell: what inspect() finds without looking
// into the script. None if the script does anything else, or if what it executes cannot be warm,
// which the shell then has to find out each time. Reads files, blocking.
std::optional<Executable> wrapped_by(const std::string& program, const Executable& shell,
                                     std::string_view search_path);

}  // namespace worker
