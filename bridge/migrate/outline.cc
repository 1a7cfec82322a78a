#include <algorithm>
#include <cctype>

#include "migrate/place.h"

namespace migrate {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The length of "(", "(?:" or "(?<name>" at the beginning of text; 0: there is none.
std::size_t group_size(std::string_view text) {
  if (!text.starts_with('(')) return 0;
  if (!text.starts_with("(?")) return 1;
  if (text.starts_with("(?:")) return 3;
  const std::size_t end = text.find('>');
  const bool named = text.starts_with("(?<") || text.starts_with("(?P<");
  return named && end != text.npos ? end + 1 : 0;
}

// One character that stands for itself; its length in the expression goes to size. 0: there is
// none.
char plain_character(std::string_view text, std::size_t& size) {
  if (text.empty()) return '\0';
  if (text[0] == '\\') {
    size = 2;
    return text.size() > 1 && !is_word(text[1]) ? text[1] : '\0';
  }
  size = 1;
  return std::string_view(".[]()*+?{}|^$").find(text[0]) == std::string_view::npos ? text[0] : '\0';
}

// The words of "cgi|pl)" or "cgi", and what follows them; none if it is something else.
std::vector<std::string> endings(std::string_view text, std::string_view& rest) {
  const std::size_t group = group_size(text);
  text.remove_prefix(group);
  std::vector<std::string> words;
  for (;;) {
    std::size_t size = 0;
    while (size < text.size() && is_word(text[size])) ++size;
    if (size == 0) return {};
    words.push_back("." + std::string(text.substr(0, size)));
    text.remove_prefix(size);
    if (group == 0 || !text.starts_with('|')) break;
    text.remove_prefix(1);
  }
  if (group > 0) {
    if (!text.starts_with(')')) return {};
    text.remove_prefix(1);
  }
  rest = text;
  return words;
}

// Whether after an ending nothing but PATH_INFO follows: "$", "(/|$)", "(/.*)?$", "/".
bool ends_the_name(std::string_view rest) {
  const std::size_t group = group_size(rest);
  if (group > 0) rest.remove_prefix(group);
  return rest.empty() ? group == 0 : rest[0] == '$' || rest[0] == '/';
}

// How far a scan of an expression has come: a byte at a time, but an escaped one with its
// backslash.
std::size_t step(std::string_view regex, std::size_t at) {
  return at + (regex[at] == '\\' ? 2 : 1);
}

bool has_choice_outside_groups(std::string_view regex) {
  int depth = 0;
  for (std::size_t at = 0; at < regex.size(); at = step(regex, at)) {
    if (regex[at] == '(') ++depth;
    if (regex[at] == ')') --depth;
    if (regex[at] == '|' && depth == 0) return true;
  }
  return false;
}

// What is after the group at the beginning of regex; its end, if the group is not closed.
std::size_t closing_of(std::string_view regex) {
  int depth = 0;
  for (std::size_t at = 0; at < regex.size(); at = step(regex, at)) {
    if (regex[at] == '(') ++depth;
    if (regex[at] == ')' && --depth == 0) return at + 1;
  }
  return regex.size();
}

// Whether what is before rest may be missing.
bool is_optional(std::string_view rest) {
  return rest.starts_with('*') || rest.starts_with('?') || rest.starts_with('{');
}

}  // namespace

Outline outline_of(std::string_view regex) {
  Outline outline;
  if (has_choice_outside_groups(regex)) return outline;
  const std::size_t dot = regex.rfind("\\.");
  if (dot != regex.npos) {
    std::string_view rest;
    const auto words = endings(regex.substr(dot + 2), rest);
    if (!words.empty() && !rest.empty() && ends_the_name(rest)) outline.suffixes = words;
  }
  if (!regex.starts_with('^')) return outline;
  regex.remove_prefix(1);
  const bool has_choice = regex.find('|') != regex.npos;
  while (!regex.empty()) {
    // A group that is always there once is the same as what is in it.
    const std::size_t group = has_choice ? 0 : group_size(regex);
    if (group > 0 && !is_optional(regex.substr(closing_of(regex)))) {
      regex.remove_prefix(group);
      continue;
    }
    if (regex.starts_with(')')) {
      regex.remove_prefix(1);
      continue;
    }
    std::size_t size = 0;
    const char c = plain_character(regex, size);
    if (c == '\0' || is_optional(regex.substr(size))) break;
    outline.begin += c;
    regex.remove_prefix(size);
    if (regex.starts_with('+')) break;
  }
  outline.whole = regex == "$";
  return outline;
}

std::string first_group_of(std::string_view regex) {
  if (!regex.starts_with("^(")) return std::string(regex);
  regex.remove_prefix(1);
  const std::size_t end = closing_of(regex), begin = group_size(regex);
  return "^" + std::string(regex.substr(begin, end - std::min(end, begin + 1)));
}

std::string clean_path(std::string_view path) {
  std::string clean;
  for (const char c : path) {
    if (c != '/' || !clean.ends_with('/')) clean += c;
  }
  return clean;
}

}  // namespace migrate
