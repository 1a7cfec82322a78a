// The text of one of nginx's files as directives, divided into words as nginx itself does it
// (ngx_conf_read_token() in its ngx_conf_file.c).
#pragma once

#include <string_view>

#include "migrate/directive.h"

namespace migrate {

// Includes are directives like any other here. For a file with a mistake, only the place of the
// mistake is returned. Lua blocks (..._by_lua_block) are stepped over. Blocks can be nested in at
// most kDepthMax levels.
Parsed parse_nginx(std::string_view text);

inline constexpr unsigned kDepthMax = 100;

}  // namespace migrate
