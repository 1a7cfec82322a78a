// The stack of a script, as its interpreter has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stacks/modules.h"
#include "stacks/stopped_program.h"

namespace stacks {

// The symbols that are needed for it.
const std::vector<std::string_view>& interpreter_symbols();

// "python: function (file:line)", innermost first; empty if it is no interpreter that is known.
std::vector<std::string> script_frames(StoppedProgram& program, const Modules& modules);

}  // namespace stacks
