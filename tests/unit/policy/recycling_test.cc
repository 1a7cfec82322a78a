#include "policy/recycling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace policy {
namespace {

using namespace std::chrono_literals;

config::ProgramSettings::Workers limits_of(unsigned max_requests, base::Duration max_age) {
  config::ProgramSettings::Workers limits;
  limits.max_requests = max_requests;
  limits.max_age = max_age;
  return limits;
}

TEST(Recycling, comes_within_the_spread_before_the_limits) {
  const auto limits = limits_of(100, 10s);
  for (std::uint64_t id = 1; id < 100; ++id) {
    EXPECT_EQ(worn_out(id, limits, 89, 8999ms), WornOut::no);
    EXPECT_EQ(worn_out(id, limits, 100, 0ms), WornOut::by_requests);
    EXPECT_EQ(worn_out(id, limits, 0, 10s), WornOut::by_age);
  }
}

TEST(Recycling, never_comes_where_nothing_is_limited) {
  const auto limits = limits_of(0, 0s);
  EXPECT_EQ(worn_out(7, limits, 1'000'000'000, 1000h), WornOut::no);
}

// Goal: workers that are forked at one moment and get the same number of requests do not all end at
// one moment.
TEST(Recycling, spreads_over_all_of_the_spread_and_not_beyond) {
  const auto limits = limits_of(10'000, 1h);
  std::set<unsigned> requests;
  base::Duration least = 1h, most = 0s;
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    requests.insert(own_max_requests(id, limits));
    least = std::min(least, own_max_age(id, limits));
    most = std::max(most, own_max_age(id, limits));
  }
  EXPECT_GE(*requests.begin(), 9'000u);
  EXPECT_LT(*requests.begin(), 9'050u);
  EXPECT_LE(*requests.rbegin(), 10'000u);
  EXPECT_GT(*requests.rbegin(), 9'950u);
  EXPECT_GT(requests.size(), 500u);
  EXPECT_GE(least, 54min);
  EXPECT_LE(most, 1h);
}

TEST(Recycling, leaves_a_limit_of_few_requests_as_it_is_said) {
  const auto limits = limits_of(9, 0s);
  for (std::uint64_t id = 1; id < 100; ++id) EXPECT_EQ(own_max_requests(id, limits), 9u);
}

}  // namespace
}  // namespace policy
