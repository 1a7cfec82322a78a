#include "shadow/answer_copy.h"

#include <strings.h>

#include <algorithm>
#include <utility>

namespace shadow {
namespace {

constexpr std::string_view kStatus = "Status:";

bool is_status(std::string_view line) {
  return line.size() >= kStatus.size() &&
         ::strncasecmp(line.data(), kStatus.data(), kStatus.size()) == 0;
}

}  // namespace

void AnswerCopy::take_head(const cgi::ResponseHead& head) {
  answer_.status = head.status;
  std::string_view rest = head.bytes;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || is_status(line)) continue;
    answer_.head += line;
    answer_.head += '\n';
  }
  answer_.head = compare::sorted(answer_.head);
}

void AnswerCopy::add_body(base::ByteView piece) {
  const std::size_t room = body_max_ + 1 - answer_.body.size();
  answer_.body += piece.substr(0, std::min(room, piece.size()));
}

compare::Answer AnswerCopy::finish(const worker::Ending& ending) {
  answer_.exit_code = ending.app_status;
  answer_.ended_by = ending.description;
  return std::exchange(answer_, {});
}

}  // namespace shadow
