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

TEST(Printable, cuts_after_the_limit_and_says_how_long_it_was) {
  EXPECT_EQ(printable("abcdef", 3), "abc... (6 bytes)");
}

}  // namespace
}  // namespace base
