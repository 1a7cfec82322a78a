#include "cli/terminal.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

const Terminal kPlain{Charset::ascii, Colours::off, 40};
const Terminal kUnicode{Charset::unicode, Colours::on, 40};

TEST(Bar, is_as_long_as_its_share) {
  EXPECT_EQ(bar(0.5, 10, kPlain), "#####     ");
  EXPECT_EQ(bar(1, 4, kPlain), "####");
  EXPECT_EQ(bar(0, 4, kPlain), "    ");
  EXPECT_EQ(bar(0.5, 4, kUnicode), "██  ");
  EXPECT_EQ(bar(0.3125, 4, kUnicode), "█▎  ");
}

TEST(Bar, of_a_tiny_share_can_be_seen) {
  EXPECT_EQ(bar(0.001, 4, kPlain), "#   ");
  EXPECT_EQ(bar(0.001, 4, kUnicode), "▏   ");
}

TEST(Bar, never_leaves_its_place) {
  for (const double share : {-1.0, 0.0, 0.0001, 0.49, 0.999, 1.0, 7.0}) {
    EXPECT_EQ(width_of(bar(share, 12, kPlain)), 12u) << share;
    EXPECT_EQ(width_of(bar(share, 12, kUnicode)), 12u) << share;
  }
}

TEST(Wrapped, text_stays_within_the_columns) {
  const std::string text =
      wrapped("label  ", "one two three four five six seven eight nine", kPlain);
  EXPECT_EQ(text, "label  one two three four five six seven\n       eight nine\n");
}

TEST(Wrapped, text_with_a_long_word_gives_it_a_line) {
  const std::string word(50, 'x');
  EXPECT_EQ(wrapped("a ", "b " + word + " c", kPlain), "a b\n  " + word + "\n  c\n");
  EXPECT_EQ(wrapped("a ", word, kPlain), "a " + word + "\n");
  EXPECT_EQ(wrapped("a ", "", kPlain), "a \n");
}

TEST(Wrapped, lets_no_text_steer_the_terminal) {
  EXPECT_EQ(wrapped("a ", "b\x1b[31m\xc2\x9b c\n", kPlain), "a b\\x1b[31m\\xc2\\x9b c\\n\n");
}

TEST(Width, counts_characters_and_not_bytes) {
  EXPECT_EQ(width_of("é█"), 2u);
  EXPECT_EQ(padded("é", 3), "é  ");
}

TEST(Colours, are_only_where_a_terminal_has_them) {
  EXPECT_EQ(painted("x", Colour::red, kPlain), "x");
  EXPECT_EQ(painted("x", Colour::plain, kUnicode), "x");
  EXPECT_EQ(painted("x", Colour::red, kUnicode), "\x1b[31mx\x1b[0m");
}

}  // namespace
}  // namespace cli
