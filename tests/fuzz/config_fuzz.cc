// Any text as a settings file: it is refused with a problem that has a place, or it is accepted;
// then the output of `config show` is read back to the same settings.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "config/load.h"
#include "config/show.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  config::LoadOutcome outcome = config::parse(text, "fuzz.toml");
  if (!outcome) {
    BRIDGE_ASSERT(!outcome.problems().empty());
    for (const config::Problem& problem : outcome.problems()) {
      BRIDGE_ASSERT(!config::to_string(problem).empty());
    }
    return 0;
  }
  config::LoadOutcome again = config::parse(config::show(outcome.settings()), "shown.toml");
  BRIDGE_ASSERT(again.ok());
  BRIDGE_ASSERT(again.settings() == outcome.settings());
  return 0;
}
