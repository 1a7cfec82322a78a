#include "policy/reset_costs.h"

#include <gtest/gtest.h>

#include "policy/recent_peak.h"

namespace policy {
namespace {

using std::chrono::microseconds;

TEST(RecentMedian, is_not_moved_by_one_slow_moment) {
  RecentMedian median;
  EXPECT_EQ(median.value(), microseconds(0));
  median.add(microseconds(100));
  EXPECT_EQ(median.value(), microseconds(100));
  for (int i = 0; i < 6; ++i) median.add(microseconds(100));
  for (int i = 0; i < 6; ++i) median.add(microseconds(90000));
  EXPECT_EQ(median.value(), microseconds(100));
}

TEST(RecentMedian, is_of_the_last_ones) {
  RecentMedian median;
  for (std::size_t i = 0; i < RecentMedian::kKept; ++i) median.add(microseconds(100));
  for (std::size_t i = 0; i < RecentMedian::kKept; ++i) median.add(microseconds(5));
  EXPECT_EQ(median.value(), microseconds(5));
}

ResetCosts costs(unsigned retired_per_cent, int rewind, int start, int forked = 0) {
  return {.retired_per_cent = retired_per_cent,
          .rewind = microseconds(rewind),
          .start = microseconds(start),
          .forked = microseconds(forked)};
}

TEST(ResetCosts, rewinding_pays_though_a_visitor_ends_most_workers) {
  for (unsigned retired : {0, 22, 50, 90, 98}) {
    EXPECT_TRUE(costs(retired, 50, 600).rewinding_pays()) << retired;
  }
}

TEST(ResetCosts, rewinding_does_not_pay_if_every_request_ends_its_worker) {
  EXPECT_FALSE(costs(100, 50, 600).rewinding_pays());
  EXPECT_FALSE(costs(100, 0, 600).rewinding_pays());
}

TEST(ResetCosts, rewinding_does_not_pay_if_it_takes_longer_than_a_start) {
  EXPECT_FALSE(costs(21, 700, 600).rewinding_pays());
}

TEST(ResetCosts, a_cheaper_fork_that_was_measured_counts) {
  EXPECT_TRUE(costs(40, 50, 600, 300).rewinding_pays());   // 270 us
  EXPECT_FALSE(costs(60, 50, 600, 300).rewinding_pays());  // 380 us
  EXPECT_EQ(costs(60, 50, 600, 300).describe(),
            "a request costs 380 us to put back or replace its worker, and 300 us to fork one");
}

TEST(RecentShare, says_nothing_before_there_were_enough) {
  RecentShare share;
  for (std::size_t i = 0; i + 1 < RecentShare::kWindow; ++i) share.note(RecentShare::Was::yes);
  EXPECT_FALSE(share.more_than(0));
  share.note(RecentShare::Was::yes);
  EXPECT_TRUE(share.more_than(99));
  EXPECT_EQ(share.per_cent(), 100u);
}

TEST(RecentShare, is_of_the_last_ones) {
  RecentShare share;
  for (std::size_t i = 0; i < RecentShare::kWindow; ++i) share.note(RecentShare::Was::yes);
  for (std::size_t i = 0; i < RecentShare::kWindow - 10; ++i) share.note(RecentShare::Was::no);
  EXPECT_EQ(share.count(), 10u);
  EXPECT_TRUE(share.more_than(19));
  EXPECT_FALSE(share.more_than(20));
}

}  // namespace
}  // namespace policy
