// One line of a header block: "Name: value".
#pragma once

#include <optional>
#include <string_view>

namespace cgi {

struct HeaderField {
  std::string_view name;
  std::string_view value;  // without the blanks around it
};

// line: without its line end. None if there is no colon, or if what precedes it is not a token
// (RFC 9110 5.6.2). The views point into line.
std::optional<HeaderField> parse_header_field(std::string_view line);

// Whether two field names are equal; case does not matter.
bool same_name(std::string_view a, std::string_view b);

// An order of field names, for sets; case does not matter.
struct NameBefore {
  bool operator()(std::string_view a, std::string_view b) const;
};

}  // namespace cgi
