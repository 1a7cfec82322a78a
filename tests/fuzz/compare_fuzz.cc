// Answers compared with each other; the input is cut into three at its NUL bytes. Applying the
// changes to one gives the other, what the masks learned from two answers they explain, and
// everything is bounded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compare/shadow_record.h"
#include "text/text_diff.h"

namespace {

void demand(bool condition) {
  if (!condition) std::abort();
}

void demand_right(const std::vector<text::Change>& changes, std::string_view a,
                  std::string_view b) {
  demand(text::apply(changes, a, b) == b);
  demand(changes.empty() == (a == b));
  for (std::size_t i = 1; i < changes.size(); ++i) {
    demand(changes[i - 1].a_end < changes[i].a_begin);
    demand(changes[i - 1].b_end < changes[i].b_begin);
  }
}

void demand_printable(std::string_view diff) {
  for (char byte : diff) demand(byte == '\n' || byte == '\t' || (byte & 0xe0) != 0);
}

void run(std::string_view a, std::string_view b, std::string_view c) {
  demand_right(text::changes(a, b), a, b);
  demand_right(text::changed_values(a, b), a, b);
  std::string diff = text::unified_diff(a, b, "a", "b", 2000);
  demand(diff.size() <= 2000);
  demand_printable(diff);

  compare::Masks masks;
  masks.learn({a, c});
  demand(masks.match({b, b}) == compare::Match::same);
  std::string rest = masks.without_masked({a, b});
  if (masks.match({a, b}) == compare::Match::masked) demand(rest == a);

  compare::ShadowRecord record;
  compare::Answer classic{200, std::string(c), std::string(a), 0, ""};
  compare::Answer persistent{200, std::string(c), std::string(b), 0, ""};
  compare::Answer control{200, std::string(c), std::string(c), 0, ""};
  compare::Subject subject{0, compare::Arm::rewind, "GET", "/"};
  for (int i = 0; i < 3; ++i) {
    if (record.look(subject, classic, persistent) == compare::Look::done) continue;
    record.conclude(subject, classic, persistent, control);
  }
  demand(record.compared() == 3);
  if (a == b) demand(record.different() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string_view texts[3];
  for (std::string_view& text : texts) {
    text = input.substr(0, input.find('\0'));
    input.remove_prefix(std::min(input.size(), text.size() + 1));
  }
  run(texts[0], texts[1], texts[2]);
  return 0;
}
