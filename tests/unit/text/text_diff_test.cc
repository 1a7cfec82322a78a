#include "text/text_diff.h"

#include <gtest/gtest.h>

#include <random>

namespace text {
namespace {

struct Exchange {
  std::string old_text, new_text;
  bool operator==(const Exchange&) const = default;
};

void PrintTo(const Exchange& one, std::ostream* out) {
  *out << '"' << one.old_text << "\" -> \"" << one.new_text << '"';
}

std::vector<Exchange> exchanges(const std::string& a, const std::string& b) {
  std::vector<Exchange> all;
  std::vector<Change> found = changes(a, b);
  for (const Change& one : found) {
    all.push_back({a.substr(one.a_begin, one.a_end - one.a_begin),
                   b.substr(one.b_begin, one.b_end - one.b_begin)});
  }
  EXPECT_EQ(apply(found, a, b), b);
  return all;
}

using Exchanges = std::vector<Exchange>;

TEST(Changes, are_whole_words) {
  EXPECT_EQ(exchanges("count: 123\n", "count: 124\n"), (Exchanges{{"123", "124"}}));
  EXPECT_EQ(exchanges("a caf\xc3\xa9 b", "a caf\xc3\xa8 b"),
            (Exchanges{{"caf\xc3\xa9", "caf\xc3\xa8"}}));
  EXPECT_EQ(exchanges("a_b-c", "a_x-c"), (Exchanges{{"a_b", "a_x"}}));
}

TEST(Changes, are_found_at_the_begin_and_at_the_end) {
  EXPECT_EQ(exchanges("1 x", "2 x"), (Exchanges{{"1", "2"}}));
  EXPECT_EQ(exchanges("x 1", "x 2"), (Exchanges{{"1", "2"}}));
  EXPECT_EQ(exchanges("1", "2"), (Exchanges{{"1", "2"}}));
  EXPECT_EQ(exchanges("", "2"), (Exchanges{{"", "2"}}));
  EXPECT_EQ(exchanges("2", ""), (Exchanges{{"2", ""}}));
  EXPECT_EQ(exchanges("", ""), Exchanges{});
  EXPECT_EQ(exchanges("x", "x\n"), (Exchanges{{"", "\n"}}));
}

TEST(Changes, of_lines_put_in_leave_the_others_alone) {
  EXPECT_EQ(exchanges("a\nb\nc\n", "a\nx\nb\nc\n"), (Exchanges{{"", "x\n"}}));
  EXPECT_EQ(exchanges("a\nb\nc\n", "b\nc\n"), (Exchanges{{"a\n", ""}}));
}

TEST(Changes, hold_each_line_against_its_own_where_as_many_differ) {
  EXPECT_EQ(exchanges("<b>1</b>\n<i>2</i>\n", "<b>3</b>\n<i>4</i>\n"),
            (Exchanges{{"1", "3"}, {"2", "4"}}));
}

TEST(Changes, are_found_in_one_long_line) {
  std::string a = "[", b = "[";
  for (int i = 0; i < 5000; ++i) {
    a += "{\"id\": " + std::to_string(i) + ", \"t\": " + std::to_string(10000 + i) + "}, ";
    b += "{\"id\": " + std::to_string(i) + ", \"t\": " + std::to_string(20000 + i) + "}, ";
  }
  Exchanges all = exchanges(a, b);
  ASSERT_EQ(all.size(), 5000u);
  EXPECT_EQ(all[4999], (Exchange{"14999", "24999"}));
}

std::string random_text(std::mt19937& bits, std::size_t size) {
  constexpr std::string_view kBytes = "ab1\n <>=\xc3\0x";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += kBytes[bits() % kBytes.size()];
  return text;
}

std::string mutated(std::mt19937& bits, std::string text) {
  for (unsigned i = bits() % 6; i > 0; --i) {
    std::size_t at = bits() % (text.size() + 1);
    text.replace(at, bits() % 5, random_text(bits, bits() % 5));
  }
  return text;
}

TEST(Changes, make_b_of_a_whatever_they_are) {
  std::mt19937 bits(3);
  for (int i = 0; i < 3000; ++i) {
    std::string a = random_text(bits, bits() % 60);
    std::string b = i % 2 == 0 ? mutated(bits, a) : random_text(bits, bits() % 60);
    std::vector<Change> found = changes(a, b);
    EXPECT_EQ(apply(found, a, b), b);
    EXPECT_EQ(found.empty(), a == b);
    for (std::size_t j = 1; j < found.size(); ++j) {
      EXPECT_GT(found[j].a_begin, found[j - 1].a_end);
      EXPECT_EQ(found[j].a_begin - found[j - 1].a_end, found[j].b_begin - found[j - 1].b_end);
    }
  }
}

TEST(Changes, of_texts_beyond_the_limits_are_one) {
  std::string a(kLinesMax, 'a'), b(kLinesMax, 'b');
  EXPECT_EQ(changes("x\n" + a + "\ny", "x\n" + b + "\ny").size(), 1u);
  std::string line = std::string(kTokensMax, '.') + '\n';
  EXPECT_EQ(changes("x\n" + line + "y\n", "x\n," + line + "y\n"),
            (std::vector<Change>{{2, 2 + line.size(), 2, 3 + line.size()}}));
}

TEST(UnifiedDiff, is_as_diff_u_has_it) {
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n", "1\n2\n3\nx\n5\n6\n", "classic", "rewind", 1000),
            "--- classic\n+++ rewind\n@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+x\n 5\n 6\n");
  EXPECT_EQ(unified_diff("a\n", "", "c", "r", 1000), "--- c\n+++ r\n@@ -1,1 +0,0 @@\n-a\n");
  EXPECT_EQ(unified_diff("same\n", "same\n", "c", "r", 1000), "");
}

TEST(UnifiedDiff, joins_changes_that_are_near_and_parts_others) {
  std::string a, b;
  for (int i = 0; i < 30; ++i) {
    a += std::to_string(i) + '\n';
    b += (i == 5 || i == 9 || i == 20 ? "x" : "") + std::to_string(i) + '\n';
  }
  std::string diff = unified_diff(a, b, "c", "r", 1000);
  EXPECT_NE(diff.find("@@ -4,9 +4,9 @@\n"), std::string::npos) << diff;
  EXPECT_NE(diff.find("@@ -19,5 +19,5 @@\n"), std::string::npos) << diff;
}

TEST(UnifiedDiff, says_where_a_line_end_is_missing) {
  EXPECT_EQ(unified_diff("a", "a\n", "c", "r", 1000),
            "--- c\n+++ r\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end\n+a\n");
}

TEST(UnifiedDiff, shows_what_is_no_text_by_its_bytes) {
  std::string diff = unified_diff("\x01\xff\r\n", "\xc3\xa4\xed\xa0\x80\t\x7f\n", "c", "r", 1000);
  EXPECT_NE(diff.find("-\\x01\\xff\\x0d\n"), std::string::npos) << diff;
  EXPECT_NE(diff.find("+\xc3\xa4\\xed\\xa0\\x80\t\\x7f\n"), std::string::npos) << diff;
}

TEST(UnifiedDiff, shows_of_a_long_line_where_it_differs) {
  std::string a(10'000, 'a'), b = a;
  b[7000] = 'b';
  std::string diff = unified_diff(a, b, "c", "r", 2000);
  EXPECT_NE(diff.find("\n-[6920 bytes] aaaa"), std::string::npos) << diff;
  EXPECT_NE(diff.find("aaabaaa"), std::string::npos) << diff;
  EXPECT_NE(diff.find("[2760 bytes]"), std::string::npos) << diff;
}

TEST(UnifiedDiff, never_takes_more_than_it_may_and_says_what_is_left_out) {
  std::string a, b;
  for (int i = 0; i < 2000; ++i) a += "old\n", b += "new\n";
  for (std::size_t bytes_max : {0u, 1u, 10u, 100u, 1000u, 16u * 1024}) {
    std::string diff = unified_diff(a, b, "classic", "rewind", bytes_max);
    EXPECT_LE(diff.size(), bytes_max);
    if (bytes_max < 1000) continue;
    EXPECT_NE(diff.find(" lines of the diff left out]\n"), std::string::npos);
  }
}

}  // namespace
}  // namespace text
