#include "policy/recent_peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace policy {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kWindow{1000};

class RecentPeakTest : public testing::Test {
 protected:
  unsigned noted(unsigned at_once, int at_ms) {
    peak_.note(at_once, base::TimePoint() + milliseconds(at_ms), kWindow);
    return peak_.value();
  }
  RecentPeak peak_;
};

TEST_F(RecentPeakTest, is_nothing_before_anything_was_noted) {
  EXPECT_EQ(peak_.value(), 0u);
}

TEST_F(RecentPeakTest, counts_a_number_for_the_window_behind_its_end) {
  EXPECT_EQ(noted(4, 0), 4u);
  EXPECT_EQ(noted(1, 5000), 4u) << "there were four until now";
  EXPECT_EQ(noted(0, 5999), 4u);
  EXPECT_EQ(noted(0, 6000), 1u);
  EXPECT_EQ(noted(0, 7000), 0u);
}

TEST_F(RecentPeakTest, falls_step_by_step) {
  noted(8, 0);
  noted(5, 100);
  noted(3, 600);
  EXPECT_EQ(noted(1, 1050), 8u);
  EXPECT_EQ(noted(1, 1150), 5u);
  EXPECT_EQ(noted(1, 1650), 3u);
  EXPECT_EQ(noted(1, 2100), 1u);
}

TEST_F(RecentPeakTest, is_not_kept_up_by_a_few_that_come_all_the_time) {
  noted(4, 0);
  for (int at = 100; at < 1000; at += 100) EXPECT_EQ(noted(at / 100 % 2, at), 4u);
  noted(1, 1100);
  EXPECT_EQ(noted(0, 1200), 1u);
}

TEST_F(RecentPeakTest, forgets) {
  noted(4, 0);
  peak_.forget();
  EXPECT_EQ(peak_.value(), 0u);
  EXPECT_EQ(noted(2, 1), 2u);
}

// Goal: the same result as from the whole history. Method: a random walk.
TEST_F(RecentPeakTest, is_the_greatest_of_the_window) {
  std::mt19937 random(7);
  struct Noted {
    int from;
    unsigned at_once;
  };
  std::vector<Noted> all;
  int now = 0;
  for (int step = 0; step < 3000; ++step) {
    now += static_cast<int>(random() % 200);
    all.push_back({now, static_cast<unsigned>(random() % 10)});
    unsigned most = all.back().at_once;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i + 1].from > now - 1000) most = std::max(most, all[i].at_once);
    }
    ASSERT_EQ(noted(all.back().at_once, now), most) << step;
  }
}

}  // namespace
}  // namespace policy
