#include "compare/answer.h"

#include <strings.h>

#include <algorithm>
#include <vector>

namespace compare {
namespace {

std::string_view name_of(std::string_view line) {
  return line.substr(0, line.find(':'));
}

bool comes_before(std::string_view line, std::string_view other_line) {
  const std::string_view name = name_of(line), other = name_of(other_line);
  const int order = ::strncasecmp(name.data(), other.data(), std::min(name.size(), other.size()));
  return order != 0 ? order < 0 : name.size() < other.size();
}

}  // namespace

std::string sorted(std::string_view fields) {
  std::vector<std::string_view> lines;
  while (!fields.empty()) {
    const std::size_t end = std::min(fields.find('\n'), fields.size() - 1) + 1;
    lines.push_back(fields.substr(0, end));
    fields.remove_prefix(end);
  }
  std::stable_sort(lines.begin(), lines.end(), comes_before);
  std::string text;
  for (const std::string_view line : lines) text += line;
  return text;
}

}  // namespace compare
