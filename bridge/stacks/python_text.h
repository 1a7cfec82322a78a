// What CPython writes of its stack, as frames.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stacks {

// text: "  File "PATH", line N in NAME" a frame, innermost first; lines that are something else are
// passed over. A program may have written anything. Gives "python: NAME (PATH:N)".
std::vector<std::string> python_frames_in(std::string_view text);

}  // namespace stacks
