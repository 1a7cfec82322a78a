// Arbitrary bytes in JSON, which can only contain text.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace journal {

// Whether bytes are UTF-8 (RFC 3629), without NUL.
bool is_text(std::string_view bytes);

// bytes for people: bytes that are not text are read as Latin-1.
std::string shown_text(std::string_view bytes);

// bytes as a string or, if they are not text, as {"latin1": string} with one character per byte.
nlohmann::json json_of_bytes(std::string_view bytes);
// Returns the same bytes; none if value is neither.
std::optional<std::string> bytes_of_json(const nlohmann::json& value);

// value as text in ASCII: a terminal obeys U+009B in a visitor's words, and some readers end a line
// at U+0085 or U+2028. What is no UTF-8 in it is replaced.
template <typename Json>
std::string ascii_json(const Json& value, int indent = -1) {
  constexpr bool kAsciiOnly = true;
  return value.dump(indent, ' ', kAsciiOnly, Json::error_handler_t::replace);
}

}  // namespace journal
