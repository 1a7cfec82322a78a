#include "stacks/python_lines.h"

#include <cstddef>

namespace stacks {
namespace {

constexpr std::uint8_t kBegins = 0x80;  // the first byte of an entry
constexpr unsigned kNone = 15, kLong = 14, kNoColumns = 13, kOneLineFrom = 10;

// Six bits per byte, lowest first; bit 6: more follows. The sign is the lowest bit of all.
std::int64_t signed_number(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    value |= static_cast<std::uint64_t>(bytes[i] & 0x3f) << (6 * i);
    if ((bytes[i] & 0x40) == 0) break;
  }
  const auto half = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -half : half;
}

}  // namespace

std::optional<std::int64_t> python_line(std::span<const std::uint8_t> table,
                                        std::int64_t first_line, std::uint64_t unit) {
  std::uint64_t line = static_cast<std::uint64_t>(first_line);  // which may wrap around
  std::uint64_t units = 0;
  for (std::size_t at = 0; at < table.size();) {
    const unsigned head = table[at++], code = head >> 3 & 15;
    if (code == kLong || code == kNoColumns) {
      line += static_cast<std::uint64_t>(signed_number(table.subspan(at)));
    } else if (code >= kOneLineFrom && code != kNone) {
      line += code - kOneLineFrom;
    }
    units += (head & 7) + 1;
    if (unit < units) {
      if (code == kNone) return std::nullopt;
      return static_cast<std::int64_t>(line);
    }
    while (at < table.size() && (table[at] & kBegins) == 0) ++at;
  }
  return std::nullopt;
}

}  // namespace stacks
