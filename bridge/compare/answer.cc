#include "compare/answer.h"

#include <strings.h>

#include <algorithm>

namespace compare {
namespace {

std::string_view name_of(std::string_view line) {
  return line.substr(0, line.find(':'));
}

bool comes_after(std::string_view name, std::string_view other) {
  const int same = ::strncasecmp(name.data(), other.data(), std::min(name.size(), other.size()));
  return same != 0 ? same > 0 : name.size() > other.size();
}

}  // namespace

void add_field(Answer& answer, std::string_view line) {
  std::size_t at = 0;
  while (at < answer.head.size()) {
    const std::size_t end = answer.head.find('\n', at);
    if (comes_after(name_of(std::string_view(answer.head).substr(at, end - at)), name_of(line))) {
      break;
    }
    at = end + 1;
  }
  answer.head.insert(at, std::string(line) + '\n');
}

}  // namespace compare
