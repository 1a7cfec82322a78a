// Any bytes from a client: the events of ServerConnection and RecordReader do not depend on how
// reads cut the bytes. The first two bytes choose the cuts and the limits, the rest is the
// connection. Pieces are in memory of exactly their size, so that a view beyond its piece is
// noticed.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "unit/fastcgi/transcript.h"

namespace {

using namespace fastcgi::test;

// Cuts at distances that a small generator draws from the seed, most of them short.
std::vector<std::size_t> cuts_from(unsigned seed, std::size_t size) {
  std::vector<std::size_t> cuts;
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::size_t at = 0;;) {
    state = state * 1664525u + 1013904223u;
    at += (state >> 24) % (1 + (seed & 63));
    if (at > size || cuts.size() > 200) return cuts;
    cuts.push_back(at);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const fastcgi::ServerLimits limits = {.params_bytes_max = std::size_t{data[1]} * 4,
                                        .requests_max = 1u + data[1] % 4};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Pieces pieces = cut_before(bytes, cuts_from(data[0], bytes.size()));
  BRIDGE_ASSERT(read_records({bytes}) == read_records(pieces));
  for (Finishing finishing : {Finishing::never, Finishing::when_due}) {
    BRIDGE_ASSERT(run_connection(limits, {bytes}, finishing) ==
                  run_connection(limits, pieces, finishing));
  }
  return 0;
}
