#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace base {
namespace {

using namespace std::string_view_literals;

TEST(Utf8, knows_the_first_and_last_character_of_each_length) {
  for (const std::string_view one : {"\0"sv, "\x7f"sv}) EXPECT_EQ(utf8_size(one), 1u);
  for (const std::string_view two : {"\xc2\x80"sv, "\xdf\xbf"sv}) EXPECT_EQ(utf8_size(two), 2u);
  for (const std::string_view three : {"\xe0\xa0\x80"sv, "\xef\xbf\xbf"sv}) {
    EXPECT_EQ(utf8_size(three), 3u);
  }
  for (const std::string_view four : {"\xf0\x90\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv}) {
    EXPECT_EQ(utf8_size(four), 4u);
  }
}

TEST(Utf8, refuses_overlong_forms) {
  for (const std::string_view text :
       {"\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv, "\xf0\x8f\xbf\xbf"sv}) {
    EXPECT_EQ(utf8_size(text), 0u);
  }
}

TEST(Utf8, refuses_surrogates_and_takes_their_neighbours) {
  EXPECT_EQ(utf8_size("\xed\x9f\xbf"), 3u);
  EXPECT_EQ(utf8_size("\xed\xa0\x80"), 0u);
  EXPECT_EQ(utf8_size("\xed\xbf\xbf"), 0u);
  EXPECT_EQ(utf8_size("\xee\x80\x80"), 3u);
}

TEST(Utf8, refuses_what_is_above_the_last_code_point) {
  for (const std::string_view text : {"\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv, "\xff"sv}) {
    EXPECT_EQ(utf8_size(text), 0u);
  }
}

TEST(Utf8, refuses_a_character_that_is_cut_off_or_has_lost_its_beginning) {
  for (const std::string_view whole : {"\xc3\xa4"sv, "\xe2\x82\xac"sv, "\xf0\x9f\x98\x80"sv}) {
    EXPECT_EQ(utf8_size(whole), whole.size());
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(utf8_size(whole.substr(0, size)), 0u);
      EXPECT_EQ(utf8_size(std::string(whole.substr(0, size)) + "abc"), 0u + (size == 0));
    }
    EXPECT_EQ(utf8_size(whole.substr(1)), 0u);
  }
}

TEST(Utf8, finds_the_first_byte_of_what_is_no_character) {
  EXPECT_EQ(find_not_utf8(""), std::string_view::npos);
  EXPECT_EQ(find_not_utf8("a\0\xc3\xa4\xe2\x82\xac"sv), std::string_view::npos);
  EXPECT_EQ(find_not_utf8("\xc3\xa4"
                          "b\xe2\x82"),
            3u);
  EXPECT_EQ(find_not_utf8("\xff"), 0u);
}

TEST(Utf8, knows_what_is_visible) {
  for (const std::string_view seen : {" "sv, "~"sv, "\xc2\xa0"sv, "\xe2\x82\xac"sv}) {
    EXPECT_EQ(visible_size(seen), seen.size());
  }
  for (const std::string_view hidden :
       {""sv, "\0"sv, "\t"sv, "\n"sv, "\x1b"sv, "\x7f"sv, "\xc2\x80"sv, "\xc2\x9f"sv, "\x9b"sv}) {
    EXPECT_EQ(visible_size(hidden), 0u);
  }
}

}  // namespace
}  // namespace base
