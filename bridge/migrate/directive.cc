#include "migrate/directive.h"

#include <algorithm>

namespace migrate {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

unsigned line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<unsigned>(std::ranges::count(text.substr(0, offset), '\n'));
}

std::string indent_at(std::string_view text, std::size_t offset) {
  const std::size_t last = text.substr(0, offset).rfind('\n');
  const std::string_view line = text.substr(last == text.npos ? 0 : last + 1);
  return std::string(line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())));
}

bool same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower, lower);
}

}  // namespace migrate
