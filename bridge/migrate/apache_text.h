// The text of one of Apache's files as directives, by augeas and its lens Httpd. The only file that
// knows augeas.
#pragma once

#include <string>
#include <string_view>

#include "migrate/directive.h"

namespace migrate {

// Sections are blocks whose name lacks the brackets ("Directory"). Conditions, includes and
// variables are not interpreted here.
Parsed parse_apache(std::string_view text);

// Why no file of Apache's can be parsed: the build lacked libaugeas, or the lens is not installed.
// Empty: they can be.
std::string why_no_apache();

}  // namespace migrate
