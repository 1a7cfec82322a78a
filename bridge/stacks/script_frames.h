// The stack of a script, as its interpreter sees it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stacks/modules.h"
#include "stacks/stopped_program.h"

namespace stacks {

// The symbols needed for this.
const std::vector<std::string_view>& interpreter_symbols();

// "python: function (file:line)", innermost first; empty if it is not a known interpreter.
std::vector<std::string> script_frames(StoppedProgram& program, const Modules& modules);

}  // namespace stacks
