// The stack of a Perl script, read from the interpreter's memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stacks/modules.h"
#include "stacks/stopped_program.h"

namespace stacks {

std::vector<std::string_view> perl_symbols();

// Only for versions whose layout is known (perl_frames.cc), built with threads, as Debian's are.
std::vector<std::string> perl_frames(const StoppedProgram& program, const Modules& modules);

}  // namespace stacks
