// Where the secrets are in JSON.
#pragma once

#include <string_view>
#include <vector>

#include "journal/secret_text.h"

namespace journal {

// Whether the body is JSON: because its Content-Type says so, or because it looks like it.
bool is_json(std::string_view body, std::string_view content_type);

// Each text or number that follows a name that is wanted, or that is in a list or an object after
// such a name, at any depth; and what text_fields() finds in the other texts. A body may be cut
// anywhere, and need not be quite right.
std::vector<Field> json_fields(std::string_view body, const Wanted& wanted);

}  // namespace journal
