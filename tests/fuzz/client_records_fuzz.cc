// Any bytes from an application that speaks FastCGI: the events of ClientConnection do not depend
// on how reads cut the bytes. The first byte chooses the cuts, the rest is the connection. Pieces
// are in memory of exactly their size, so that a view beyond its piece is noticed.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "unit/fastcgi/answer_transcript.h"

using namespace fastcgi::test;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::size_t> cuts;
  const std::size_t gap = 1 + data[0] % 61u;
  for (std::size_t at = data[0] / 61u; at < bytes.size() && cuts.size() < 200; at += gap) {
    cuts.push_back(at);
  }
  BRIDGE_ASSERT(read_answer({bytes}) == read_answer(cut_before(bytes, cuts)));
  return 0;
}
