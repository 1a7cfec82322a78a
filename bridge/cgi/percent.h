// Percent-encoding (RFC 3986 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cgi {

// text with each %XX decoded. None if an escape is malformed or decodes to NUL.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace cgi
