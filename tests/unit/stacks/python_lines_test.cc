#include "stacks/python_lines.h"

#include <gtest/gtest.h>

namespace {

using stacks::python_line;
using Table = std::vector<std::uint8_t>;

constexpr std::uint8_t entry(unsigned code, unsigned units) {
  return static_cast<std::uint8_t>(0x80 | code << 3 | (units - 1));
}

TEST(PythonLines, follows_each_kind_of_entry) {
  const Table table{entry(15, 1),                                // no line
                    entry(13, 2), 0x06,                          // three lines on
                    entry(0, 1),  0x12,                          // the same line
                    entry(11, 1), 0x01, 0x02,                    // the next one
                    entry(12, 8), 0x01, 0x02,                    // the one after that
                    entry(14, 1), 0x42, 0x01, 0x00, 0x01, 0x01,  // 33 on, over a line
                    entry(13, 1), 0x05};                         // two back
  const std::vector<std::pair<std::uint64_t, std::optional<std::int64_t>>> cases{
      {0, std::nullopt}, {1, 13},  {2, 13},  {3, 13},  {4, 14},
      {5, 16},           {12, 16}, {13, 49}, {14, 47}, {15, std::nullopt}};
  for (const auto& [unit, line] : cases) EXPECT_EQ(python_line(table, 10, unit), line) << unit;
}

TEST(PythonLines, bears_any_table) {
  EXPECT_EQ(python_line({}, 1, 0), std::nullopt);
  for (unsigned first = 0; first < 256; ++first) {
    for (std::size_t length = 1; length < 20; ++length) {
      Table table(length, 0xff);
      table[0] = static_cast<std::uint8_t>(first);
      python_line(table, INT32_MAX, 3);
      table.assign(length, 0x7f);
      table[0] = static_cast<std::uint8_t>(first);
      python_line(table, INT32_MIN, UINT64_MAX);
    }
  }
}

}  // namespace
