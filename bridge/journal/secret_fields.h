// Where the fields of a body stand: of a form with parts, of JSON. They read what is there; a body
// may be cut anywhere.
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

// Of a Content-Type multipart/...; empty: it is another.
std::string multipart_boundary(std::string_view content_type);

// RFC 7578: the parts that have a name, with their content.
std::vector<Field> multipart_fields(std::string_view body, std::string_view boundary);

// Each text or number that stands behind a name for which wanted() holds, or in a list or an object
// behind one, in any depth.
std::vector<Field> json_fields(std::string_view body,
                               const std::function<bool(std::string_view)>& wanted);

}  // namespace journal
