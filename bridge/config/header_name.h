// What a setting may name in HTTP: methods, headers, cookies.
#pragma once

#include <string_view>

#include "base/result.h"

namespace config {

// RFC 9110 §5.6.2
bool is_token(std::string_view text);

// A header's name of at most 64 bytes, or none ("").
base::Status check_header(std::string_view name);

// The same for a header that the bridge adds to each answer: none that already has a meaning for
// web servers, proxies or browsers. A Content-Length that says which arm answered would break every
// answer, an X-Accel-Redirect would send another file.
base::Status check_added_header(std::string_view name);

}  // namespace config
