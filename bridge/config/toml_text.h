// The text of a file as TOML values. toml11 reports a syntax error by an exception, version 3.7
// with a picture of the line in it; here it becomes a Problem like any other.
#pragma once

#include <string>
#include <string_view>
#include <toml.hpp>
#include <variant>

#include "config/load.h"

// Only this file and its source know what differs between toml11 3 (Debian 12) and 4 (Debian 13).
#if defined(TOML11_VERSION_MAJOR) && TOML11_VERSION_MAJOR >= 4
#define CGIBRIDGE_TOML11_4
#endif

namespace config {

// Where a value, or a mistake, is in its file; lines and columns count from 1.
struct TomlPlace {
  unsigned line = 1;
  unsigned column = 1;
  std::string text{};  // the line, or that part of it around the place
  std::size_t at = 0;  // of the place in text
};

#ifdef CGIBRIDGE_TOML11_4

inline TomlPlace toml_place(const toml::source_location& place) {
  if (!place.is_ok() || place.num_lines() == 0 || place.first_line_number() == 0) return {};
  const std::size_t offset = place.first_column_offset();
  return {.line = unsigned(place.first_line_number()),
          .column = unsigned(place.first_column_number()),
          .text = place.first_line(),
          .at = offset == 0 ? 0 : offset - 1};
}

inline const std::string& toml_text(const toml::value& value) {
  return value.as_string(std::nothrow);
}

#else

inline TomlPlace toml_place(const toml::source_location& place) {
  return {.line = unsigned(place.line()),
          .column = unsigned(place.column()),
          .text = place.line_str(),
          .at = std::size_t(place.column()) - 1};
}

inline const std::string& toml_text(const toml::value& value) {
  return value.as_string(std::nothrow).str;
}

#endif

// The table that text is, or the first syntax error.
std::variant<toml::value, Problem> read_toml(std::string_view text, const std::string& file_name);

}  // namespace config
