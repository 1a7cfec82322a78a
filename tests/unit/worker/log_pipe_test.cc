#include "worker/log_pipe.h"

#include <gtest/gtest.h>

namespace worker {
namespace {

TEST(ErrorAllowance, passes_all_without_a_limit) {
  ErrorAllowance allowance;
  EXPECT_EQ(allowance.take("abc"), "abc");
  EXPECT_FALSE(allowance.is_used_up());
  EXPECT_EQ(allowance.tell_dropped(), "");
}

TEST(ErrorAllowance, passes_up_to_its_limit_and_counts_the_rest) {
  const std::uint64_t before = ErrorAllowance::all_dropped();
  ErrorAllowance allowance(5);
  EXPECT_EQ(allowance.take("abc"), "abc");
  EXPECT_EQ(allowance.take("defgh"), "de");
  EXPECT_TRUE(allowance.is_used_up());
  EXPECT_EQ(allowance.take("ijk"), "");
  EXPECT_EQ(allowance.tell_dropped(),
            "6 more bytes of standard error are dropped (limits.error_output is 5)");
  EXPECT_EQ(allowance.tell_dropped(), "");
  EXPECT_EQ(ErrorAllowance::all_dropped() - before, 6u);
}

TEST(ErrorAllowance, counts_a_short_line_as_more_than_it_is) {
  ErrorAllowance allowance(2 * ErrorAllowance::kLineBytesLeast + 1);
  EXPECT_EQ(allowance.take("a\nb"), "a\nb");
  EXPECT_EQ(allowance.take("c\nde\n"), "c\nd") << "two lines, and one byte more";
  EXPECT_TRUE(allowance.is_used_up());
  const std::string line(ErrorAllowance::kLineBytesLeast - 1, 'x');
  ErrorAllowance longer(2 * ErrorAllowance::kLineBytesLeast);
  EXPECT_EQ(longer.take(line + "\n" + line + "\n"), line + "\n" + line + "\n");
  EXPECT_TRUE(longer.is_used_up());
}

TEST(ErrorAllowance, has_room_again_when_it_is_renewed) {
  ErrorAllowance allowance(2);
  EXPECT_EQ(allowance.take("abc"), "ab");
  allowance.renew();
  EXPECT_EQ(allowance.take("def"), "de");
}

TEST(LineLog, remembers_the_last_line_but_the_symbol_that_the_loader_lacked) {
  LineLog lines("x");
  lines.write("one\ntwo\n");
  EXPECT_EQ(lines.last_line(), "two");
  lines.write("Can't load 'x.so': undefined symbol: hook at x.pl\nBEGIN failed\n");
  EXPECT_EQ(lines.last_line(), "Can't load 'x.so': undefined symbol: hook at x.pl");
}

}  // namespace
}  // namespace worker
