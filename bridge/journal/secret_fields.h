// Where the secrets are in a request's body.
#pragma once

#include <string_view>
#include <vector>

#include "journal/secret_text.h"

namespace journal {

// The values in the body whose names are wanted, and whatever may be such a value. The Content-Type
// says what a body is only as long as the body looks like it. A body may be cut anywhere.
std::vector<Field> secret_fields(std::string_view body, std::string_view content_type,
                                 const Wanted& wanted);

}  // namespace journal
