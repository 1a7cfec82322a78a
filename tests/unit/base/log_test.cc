#include "base/log.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Printable, shows_control_bytes_so_that_no_log_line_can_be_forged) {
  EXPECT_EQ(printable("a\nb\r\x1b[0m\x7f"), "a\\nb\\x0d\\x1b[0m\\x7f");
}

TEST(Printable, leaves_text_of_any_language_alone) {
  EXPECT_EQ(printable("größe"), "größe");
}

TEST(Printable, shows_what_terminals_obey_besides_ascii) {
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a\\xc2\\x9b31m");
  EXPECT_EQ(printable("a\x9b"
                      "31m \xe0\x82\x9b \xff \xc3"),
            "a\\x9b31m \\xe0\\x82\\x9b \\xff \\xc3");
}

TEST(Printable, cuts_no_character_in_two) {
  EXPECT_EQ(printable("größe", 3), "gr... (7 bytes)");
  EXPECT_EQ(printable("größe", 4), "grö... (7 bytes)");
}

TEST(Printable, cuts_after_the_limit_and_says_how_long_it_was) {
  EXPECT_EQ(printable("abcdef", 3), "abc... (6 bytes)");
}

}  // namespace
}  // namespace base
