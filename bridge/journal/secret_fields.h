// Where the fields of a body are: in a form with parts, in JSON. These functions read what is
// there; a body may be cut anywhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace journal {

// A field's name, and where in the body its value is.
struct Field {
  std::string name;
  std::size_t begin = 0;
  std::size_t length = 0;
};

// The boundary of a Content-Type multipart/...; empty for any other type.
std::string multipart_boundary(std::string_view content_type);

// RFC 7578: the parts that have a name, with their content.
std::vector<Field> multipart_fields(std::string_view body, std::string_view boundary);

// Each text or number that follows a name for which wanted() holds, or that is in a list or an
// object after such a name, at any depth.
std::vector<Field> json_fields(std::string_view body,
                               const std::function<bool(std::string_view)>& wanted);

}  // namespace journal
