// What CPython writes about its stack, as frames.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stacks {

// text: one "  File "PATH", line N in NAME" per frame, innermost first; other lines are skipped. A
// program may have written anything. Returns "python: NAME (PATH:N)".
std::vector<std::string> python_frames_in(std::string_view text);

}  // namespace stacks
