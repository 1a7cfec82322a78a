// Any bytes as a stream of name-value pairs: the stream is bad, or its pairs, written again, are
// read back the same, in no more bytes than before.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "fastcgi/name_value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<char> stream(data, data + size);
  stream.shrink_to_fit();
  auto params = fastcgi::Params::decode(std::move(stream));
  if (!params) return 0;
  std::string written;
  for (const auto& [name, value] : params.value()) {
    fastcgi::append_name_value(written, name, value);
    BRIDGE_ASSERT(params.value().find(name).has_value());
  }
  BRIDGE_ASSERT(written.size() <= size);
  const auto again = fastcgi::Params::decode({written.begin(), written.end()});
  BRIDGE_ASSERT(again.ok() && again.value().size() == params.value().size());
  for (auto a = params.value().begin(), b = again.value().begin(); a != params.value().end();) {
    BRIDGE_ASSERT(*a++ == *b++);
  }
  return 0;
}
