// What a `match` says by itself, without a path to try it on. Patterns are fnmatch(3)'s without
// flags: * and ? also match '/', [...] is one of several characters, \ makes the next one ordinary.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace config {

// The text that every path which matches begins with. is_all: and only that text matches.
struct PatternStart {
  std::string text;
  bool is_all = false;
};
PatternStart start_of(std::string_view pattern);

// The pattern that only this path matches. Bytes that are no UTF-8, which a settings file cannot
// have, are a ? each.
std::string literal_pattern(std::string_view path);

// Where a '[' without its ']' is, which fnmatch() takes for an ordinary character; npos: nowhere.
std::size_t unclosed_bracket(std::string_view pattern);

// Whether every path that later matches is also one that earlier matches. Yes is certain; no may
// mean that it is too hard to tell.
bool covers(const std::string& earlier, const std::string& later);

}  // namespace config
