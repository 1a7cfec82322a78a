// Settings and what can be set, as text.
#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"

namespace config {

// settings as a TOML file with every value in it, defaults included: `cgibridge config show`.
// parse() reads it back to an equal Settings.
std::string show(const Settings& settings);

// text as a TOML string, quotes and escapes included.
std::string quote(std::string_view text);

// A table of all settings in Markdown: name, type, default, range, when a change takes effect,
// and what it does.
std::string reference();

// The same as the manual page cgibridge-config(5), in the language of man(7).
std::string manual_page(std::string_view version);

}  // namespace config
