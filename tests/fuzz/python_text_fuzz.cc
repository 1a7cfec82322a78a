// Any text as the stack that CPython writes: each frame is on one line, and comes from one line of
// the text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "stacks/python_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string again;
  const auto frames = stacks::python_frames_in(text);
  BRIDGE_ASSERT(frames.size() <= 100);
  for (const std::string& frame : frames) {
    BRIDGE_ASSERT(frame.starts_with("python: ") && frame.ends_with(')'));
    BRIDGE_ASSERT(frame.find('\n') == frame.npos && frame.size() < text.size() + 16);
  }
  // A proper frame is found before any text.
  const auto more = stacks::python_frames_in("  File \"/x.py\", line 3 in f\n" + std::string(text));
  BRIDGE_ASSERT(!more.empty() && more.front() == "python: f (/x.py:3)");
  return 0;
}
