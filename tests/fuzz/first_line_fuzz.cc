// Any file as a script: what is read from its first line depends only on the bytes that the kernel
// looks at, and an interpreter found in it has a name.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "router/first_line.h"

namespace {

constexpr std::string_view kBlanks = " \t";

void demand_line(const router::FirstLine& line) {
  constexpr std::string_view kNever("\n\0", 2);
  BRIDGE_ASSERT(!line.interpreter.empty());
  BRIDGE_ASSERT(line.interpreter.find_first_of(" \t") == line.interpreter.npos);
  BRIDGE_ASSERT(line.interpreter.find_first_of(kNever) == line.interpreter.npos);
  if (!line.argument) return;
  const std::string& argument = *line.argument;
  BRIDGE_ASSERT(!argument.empty() && argument.find_first_of(kNever) == argument.npos);
  BRIDGE_ASSERT(kBlanks.find(argument.front()) == kBlanks.npos);
  BRIDGE_ASSERT(kBlanks.find(argument.back()) == kBlanks.npos);
}

void demand_interpreter(const router::FirstLine& line) {
  const auto found = router::interpreter_of(line);
  if (!found) {
    BRIDGE_ASSERT(!found.error().message.empty());
    return;
  }
  const router::Interpreter& interpreter = found.value();
  BRIDGE_ASSERT(!interpreter.interpreter.empty());
  if (interpreter.lookup == router::Lookup::search_path) {
    BRIDGE_ASSERT(interpreter.interpreter.find('/') == std::string::npos);
  }
  for (const std::string& word : interpreter.assignments) {
    BRIDGE_ASSERT(word.find('=') != word.npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  const auto line = router::parse_first_line(file);
  const auto seen = router::parse_first_line(file.substr(0, router::kFirstLineBytes));
  BRIDGE_ASSERT(line.has_value() == seen.has_value());
  if (!line) return 0;
  BRIDGE_ASSERT(line->interpreter == seen->interpreter && line->argument == seen->argument);
  demand_line(*line);
  demand_interpreter(*line);

  // A complete line means the same at the beginning of any file.
  const std::size_t end = file.find('\n');
  if (end >= router::kFirstLineBytes) return 0;
  const auto alone = router::parse_first_line(file.substr(0, end + 1));
  BRIDGE_ASSERT(alone && alone->interpreter == line->interpreter);
  BRIDGE_ASSERT(alone->argument == line->argument);
  return 0;
}
