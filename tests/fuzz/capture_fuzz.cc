// Any text as a capture for `cgibridge replay`: it is refused with a reason, or the request that
// was read from it can be sent again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "journal/capture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto read = journal::parse_capture(text);
  if (!read) {
    BRIDGE_ASSERT(!read.error().message.empty());
    return 0;
  }
  const journal::Capture& capture = read.value();
  BRIDGE_ASSERT(capture.program.starts_with('/'));
  BRIDGE_ASSERT(capture.status >= 0 && capture.status <= 999);

  // The same request, captured again with no secrets in it, is read back the same.
  journal::Entry entry;
  entry.program = capture.program;
  entry.params = capture.params;
  entry.body = capture.body;
  const journal::Secrets secrets;
  journal::Params masked = capture.params;
  (void)secrets.mask_params(masked);
  const auto again = journal::parse_capture(journal::capture_text(entry, secrets));
  BRIDGE_ASSERT(again.ok() && again.value().params == masked);
  BRIDGE_ASSERT(again.value().body.size() == capture.body.size());
  return 0;
}
