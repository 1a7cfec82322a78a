// The stack of a Python script, read from the interpreter's memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stacks/modules.h"
#include "stacks/stopped_program.h"

namespace stacks {

inline constexpr std::string_view kPythonRuntime = "_PyRuntime";

// For CPython 3.13, which itself says where things are in it. Other versions: empty.
std::vector<std::string> python_frames_of(const StoppedProgram& program, const Modules& modules);

}  // namespace stacks
