#include "config/units.h"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace config {
namespace {

TEST(Units, read_durations_with_their_unit) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("5s").value(), 5s);
  EXPECT_EQ(parse_duration("2m").value(), 2min);
  EXPECT_EQ(parse_duration("1h").value(), 1h);
  EXPECT_EQ(parse_duration("0").value(), 0s);
  EXPECT_EQ(parse_duration("0ms").value(), 0s);
}

TEST(Units, refuse_what_is_no_duration) {
  for (const char* text :
       {"", "5", "s", "-5s", "+5s", "5 s", " 5s", "5s ", "1.5s", "5S", "5sec", "1m30s", "1d",
        "0x5s", "99999999999999999999s", "9223372036854775807h"}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
}

TEST(Units, read_sizes_with_or_without_their_unit) {
  EXPECT_EQ(parse_size("64KiB").value(), 64u * 1024);
  EXPECT_EQ(parse_size("1MiB").value(), 1024u * 1024);
  EXPECT_EQ(parse_size("2GiB").value(), 2048ull * 1024 * 1024);
  EXPECT_EQ(parse_size("4096").value(), 4096u);
  EXPECT_EQ(parse_size("0").value(), 0u);
}

TEST(Units, refuse_what_is_no_size) {
  for (const char* text : {"", "KiB", "1KB", "1kib", "1K", "1 MiB", "-1MiB", "1.5MiB", "1TiB",
                           "99999999999999999999", "9223372036854775807GiB"}) {
    EXPECT_FALSE(parse_size(text).ok()) << text;
  }
}

TEST(Units, read_per_cents) {
  EXPECT_EQ(parse_per_cent("25%").value(), 25);
  EXPECT_EQ(parse_per_cent("0.1%").value(), 0.1);
  EXPECT_EQ(parse_per_cent("0%").value(), 0);
}

TEST(Units, refuse_what_is_no_per_cent) {
  for (const char* text :
       {"", "%", "1", "1 %", " 1%", "-1%", "+1%", ".5%", "1e1%", "inf%", "nan%", "1%%", "0x1%"}) {
    EXPECT_FALSE(parse_per_cent(text).ok()) << text;
  }
}

TEST(Units, print_per_cents_so_that_they_are_read_back_exactly) {
  EXPECT_EQ(format_per_cent(25), "25");
  EXPECT_EQ(format_per_cent(0.1), "0.1");
  for (double one : {1.0 / 3, 1e-7, 99.999999999, 0.0}) {
    EXPECT_EQ(parse_per_cent(format_per_cent(one) + '%').value(), one);
  }
}

TEST(Units, say_what_is_wanted_instead) {
  EXPECT_EQ(parse_duration("5sec").error().message,
            R"("5sec" is no duration like "250ms", "5s", "2m", "1h")");
  EXPECT_EQ(parse_size("1KB").error().message, R"("1KB" is no size like "64KiB", "1MiB", "2GiB")");
  EXPECT_EQ(parse_size("9223372036854775807GiB").error().message,
            R"("9223372036854775807GiB" is too large)");
}

TEST(Units, print_in_the_largest_unit_without_a_fraction) {
  EXPECT_EQ(format_duration(0ms), "0s");
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  EXPECT_EQ(format_duration(60s), "1m");
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(48h), "48h");
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1000), "1000");
  EXPECT_EQ(format_size(1024), "1KiB");
  EXPECT_EQ(format_size(1536), "1536");
  EXPECT_EQ(format_size(3ull << 30), "3GiB");
}

}  // namespace
}  // namespace config
