// Splits an input into several parts at bytes 0xff, which belong to no part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fuzz {

// The parts, as views of the input: at least one, at most `most`; the last one has the rest.
inline std::vector<std::string_view> fields(const std::uint8_t* data, std::size_t size,
                                            std::size_t most = 1000) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = rest.find('\xff');
    if (end == rest.npos || parts.size() + 1 == most) break;
    parts.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  parts.push_back(rest);
  return parts;
}

}  // namespace fuzz
