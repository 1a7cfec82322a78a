// Any text as one of nginx's files: it is refused with a line, or its directives are within the
// text, in order, and blocks contain theirs.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "migrate/nginx_text.h"
#include "migrate/place.h"

namespace {

void check(const std::vector<migrate::Directive>& directives, std::size_t begin, std::size_t end) {
  for (const migrate::Directive& directive : directives) {
    BRIDGE_ASSERT(directive.begin >= begin && directive.begin < directive.end);
    BRIDGE_ASSERT(directive.end <= end);
    BRIDGE_ASSERT(!directive.is_block || directive.body_end < directive.end);
    check(directive.children, directive.begin, directive.body_end);
    for (const std::string& arg : directive.args) {
      migrate::outline_of(arg);
      migrate::first_group_of(arg);
    }
    begin = directive.end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const migrate::Parsed parsed = migrate::parse_nginx(text);
  if (!parsed.why.empty()) {
    BRIDGE_ASSERT(parsed.line > 0 && parsed.directives.empty());
    return 0;
  }
  check(parsed.directives, 0, size);
  return 0;
}
