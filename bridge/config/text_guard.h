// Finds what toml11 3.7 must not be given, because it would read outside its memory or recurse
// until the stack ends: bytes that are not UTF-8 (in a literal string), and deep nesting.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace config {

// The brackets that may be open at once, and the dots in one key.
inline constexpr unsigned kNestingMax = 16;

struct Flaw {
  std::size_t at;  // in the text, from 0
  std::string message;
};

// The first flaw of text, if any.
std::optional<Flaw> find_flaw(std::string_view text);

}  // namespace config
