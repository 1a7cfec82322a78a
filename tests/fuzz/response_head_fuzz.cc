// The response head, cut where the input says: however it is cut, the outcome is the same as for
// the whole, and a head that was corrected needs no second correction.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "cgi/response_head.h"

namespace {

constexpr std::size_t kHeadBytesMax = 512;

void demand(bool condition) {
  if (!condition) std::abort();
}

void demand_same(const cgi::ResponseHeadReader& a, const cgi::ResponseHeadReader& b) {
  demand(a.fault() == b.fault());
  if (a.fault() != cgi::HeadFault::none) return;
  demand(a.head().bytes == b.head().bytes);
  demand(a.head().status == b.head().status);
  demand(a.head().kind == b.head().kind);
  demand(a.head().location == b.head().location);
  demand(a.head().dropped_lines == b.head().dropped_lines);
  demand(a.head().first_dropped == b.head().first_dropped);
  demand(a.head().why_dropped == b.head().why_dropped);
  demand(a.head().replaced_bytes == b.head().replaced_bytes);
}

void demand_stable(const cgi::ResponseHead& head) {
  cgi::ResponseHeadReader again(2 * kHeadBytesMax);
  demand(again.feed(head.bytes) == cgi::HeadStep::complete);
  demand(again.head().dropped_lines == 0);
  demand(again.head().bytes == head.bytes);
  demand(again.head().status == head.status);
  demand(again.head().kind == head.kind);
  demand(again.body().empty());
  demand(again.head().replaced_bytes == 0);
  for (const char c : head.bytes) {
    demand(c != '\0' && c != '\x7f' && (c < 0 || c >= ' ' || c == '\t' || c == '\r' || c == '\n'));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The first byte seeds the cuts.
  unsigned seed = data[0];
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);

  cgi::ResponseHeadReader whole(kHeadBytesMax);
  whole.feed(input);
  whole.end();

  cgi::ResponseHeadReader cut(kHeadBytesMax);
  std::size_t fed = 0;
  std::unique_ptr<char[]> last;  // a complete head may point into the chunk that completed it
  while (fed < input.size()) {
    seed = seed * 1103515245 + 12345;
    const std::string_view piece = input.substr(fed, 1 + (seed >> 16) % 13);
    std::unique_ptr<char[]> copy(new char[piece.size()]);
    piece.copy(copy.get(), piece.size());
    fed += piece.size();
    const cgi::HeadStep step = cut.feed({copy.get(), piece.size()});
    last = std::move(copy);
    if (step != cgi::HeadStep::need_more) break;
  }
  cut.end();
  demand_same(whole, cut);
  if (whole.fault() == cgi::HeadFault::none) {
    const std::size_t body_bytes = whole.body().size();
    demand(cut.body() == input.substr(input.size() - body_bytes, cut.body().size()));
    demand_stable(whole.head());
  }
  return 0;
}
