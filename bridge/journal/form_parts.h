// A form whose fields are parts of a MIME message (RFC 7578, RFC 2046), read so that no byte that
// could belong to a field is missed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace journal {

// A part, and where in the body its content is. What is not clearly a named part has no name: a
// part without a head, one with two names, or what comes before the first and after the last one.
struct FormPart {
  std::string name;
  std::string content_type;
  std::size_t begin = 0;
  std::size_t length = 0;
};

// Whether the body is such a form: because its Content-Type says so, or because it looks like one.
bool is_multipart(std::string_view body, std::string_view content_type);

// All parts with content. A body may be cut anywhere. The boundary is the one that content_type
// names, or, if that is not in the body, the first line that can be one.
std::vector<FormPart> form_parts(std::string_view body, std::string_view content_type);

}  // namespace journal
