#include "journal/secret_fields.h"

#include <utility>

#include "journal/form_parts.h"
#include "journal/json_fields.h"

namespace journal {
namespace {

// A part may be a form with parts itself.
constexpr int kDepthMax = 4;
constexpr const char* kNoName = "(no name)";

std::vector<Field> fields_of(std::string_view body, std::string_view content_type,
                             const Wanted& wanted, int depth) {
  if (!is_multipart(body, content_type)) {
    return is_json(body, content_type) ? json_fields(body, wanted) : text_fields(body, wanted);
  }
  std::vector<Field> fields;
  for (const FormPart& part : form_parts(body, content_type)) {
    if (part.name.empty() || wanted(part.name) || depth == kDepthMax) {
      fields.push_back({part.name.empty() ? kNoName : part.name, part.begin, part.length});
      continue;
    }
    const std::string_view content = body.substr(part.begin, part.length);
    for (Field& field : fields_of(content, part.content_type, wanted, depth + 1)) {
      field.begin += part.begin;
      fields.push_back(std::move(field));
    }
  }
  return fields;
}

}  // namespace

std::vector<Field> secret_fields(std::string_view body, std::string_view content_type,
                                 const Wanted& wanted) {
  return fields_of(body, content_type, wanted, 0);
}

}  // namespace journal
