#include "base/utf8.h"

#include <algorithm>
#include <array>

namespace base {
namespace {

// What may follow a leading byte: how many bytes, and the range of the first of them (which keeps
// out overlong forms, surrogates and what is beyond U+10FFFF). RFC 3629 §4
struct Sequence {
  unsigned char first_lead, last_lead;
  std::size_t size;
  unsigned char least, most;
};
constexpr std::array<Sequence, 9> kSequences = {{
    {0x00, 0x7f, 1, 0x80, 0xbf},
    {0xc2, 0xdf, 2, 0x80, 0xbf},
    {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf},
    {0xf4, 0xf4, 4, 0x80, 0x8f},
}};

bool fits(const Sequence& sequence, std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < sequence.first_lead || byte(0) > sequence.last_lead) return false;
  if (text.size() < sequence.size) return false;
  for (std::size_t i = 1; i < sequence.size; ++i) {
    const unsigned char least = i == 1 ? sequence.least : 0x80;
    const unsigned char most = i == 1 ? sequence.most : 0xbf;
    if (byte(i) < least || byte(i) > most) return false;
  }
  return true;
}

}  // namespace

std::size_t utf8_size(std::string_view text) {
  if (text.empty()) return 0;
  const auto sequence =
      std::ranges::find_if(kSequences, [text](const Sequence& one) { return fits(one, text); });
  return sequence == kSequences.end() ? 0 : sequence->size;
}

std::size_t visible_size(std::string_view text) {
  const std::size_t size = utf8_size(text);
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (size == 1 && (byte(0) < 0x20 || byte(0) == 0x7f)) return 0;
  if (size == 2 && byte(0) == 0xc2 && byte(1) < 0xa0) return 0;
  return size;
}

std::size_t find_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_size(text.substr(at));
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}

}  // namespace base
