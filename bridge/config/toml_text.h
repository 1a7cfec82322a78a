// The text of a file as TOML values. toml11 3.7 reports a syntax error by an exception with a
// picture of the line in it; here it becomes a Problem like any other.
#pragma once

#include <string>
#include <string_view>
#include <toml.hpp>
#include <variant>

#include "config/load.h"

namespace config {

// The table that text is, or the first syntax error.
std::variant<toml::value, Problem> read_toml(std::string_view text, const std::string& file_name);

}  // namespace config
