#include "config/pattern.h"

#include <fnmatch.h>

#include "base/utf8.h"

namespace config {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr char kAnything = '\1';  // no path in a settings file has it

// One element of a pattern: an ordinary character, or one of * ? [...].
struct Element {
  std::size_t size = 1;  // in the pattern
  bool is_wild = false;
  char character = 0;
  bool is_unclosed = false;  // a '[' without ']'
};

// Where the bracket expression that begins at `at` ends, after its ']'.
std::size_t end_of_bracket(std::string_view pattern, std::size_t at) {
  const std::size_t first =
      at + 1 + (at + 1 < pattern.size() && (pattern[at + 1] == '!' || pattern[at + 1] == '^'));
  for (std::size_t i = first; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > first) return i + 1;
    if (pattern[i] == '\\') ++i;
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '[' || (next != ':' && next != '.' && next != '=')) continue;
    const std::size_t end = pattern.find(std::string{next, ']'}, i + 2);
    if (end != kNone) i = end + 1;
  }
  return kNone;
}

Element element_at(std::string_view pattern, std::size_t at) {
  const char c = pattern[at];
  if (c == '*' || c == '?') return {.is_wild = true};
  if (c == '\\' && at + 1 < pattern.size()) return {.size = 2, .character = pattern[at + 1]};
  if (c != '[') return {.character = c};
  const std::size_t end = end_of_bracket(pattern, at);
  if (end == kNone) return {.character = c, .is_unclosed = true};
  return {.size = end - at, .is_wild = true};
}

}  // namespace

PatternStart start_of(std::string_view pattern) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size();) {
    const Element element = element_at(pattern, at);
    if (element.is_wild) return {std::move(text), false};
    text += element.character;
    at += element.size;
  }
  return {std::move(text), true};
}

std::string literal_pattern(std::string_view path) {
  std::string pattern;
  while (!path.empty()) {
    const std::size_t size = base::utf8_size(path);
    const char c = path.front();
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += size == 0 ? "?" : path.substr(0, size);
    path.remove_prefix(size == 0 ? 1 : size);
  }
  return pattern;
}

std::size_t unclosed_bracket(std::string_view pattern) {
  for (std::size_t at = 0; at < pattern.size();) {
    const Element element = element_at(pattern, at);
    if (element.is_unclosed) return at;
    at += element.size;
  }
  return kNone;
}

// Of the earlier pattern only * may match what is wild in the later one: so it matches whatever
// stands there.
bool covers(const std::string& earlier, const std::string& later) {
  if (earlier == later) return true;
  if (start_of(later).is_all)
    return ::fnmatch(earlier.c_str(), start_of(later).text.c_str(), 0) == 0;
  if (earlier.find_first_of("?[\\") != std::string::npos) return false;
  std::string any;
  for (std::size_t at = 0; at < later.size();) {
    const Element element = element_at(later, at);
    any += element.is_wild ? kAnything : element.character;
    at += element.size;
  }
  return ::fnmatch(earlier.c_str(), any.c_str(), 0) == 0;
}

}  // namespace config
