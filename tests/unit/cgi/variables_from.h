// Meta-variables written as NAME=VALUE lines.
#pragma once

#include <string_view>

#include "cgi/variables.h"

// The views are parts of lines.
inline cgi::Variables variables_from(std::string_view lines) {
  cgi::Variables variables;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}
