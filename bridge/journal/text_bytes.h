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

}  // namespace journal
