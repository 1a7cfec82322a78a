// The stack of a Python script, read from the interpreter's memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stacks/modules.h"
#include "stacks/stopped_program.h"

namespace stacks {

inline constexpr std::string_view kPythonRuntime = "_PyRuntime";

// Of CPython 3.13, which says itself where things are in it. Others: empty.
std::vector<std::string> python_frames_of(const StoppedProgram& program, const Modules& modules);

}  // namespace stacks
