#include "policy/values_vote.h"

#include <gtest/gtest.h>

#include <string>

namespace policy {
namespace {

constexpr base::TimePoint kNow = base::TimePoint() + std::chrono::hours(1);

// How many of these in a row it takes until they prevail; 0: not within 1,000.
unsigned until_they_prevail(ValuesVote& vote, std::string_view values) {
  for (unsigned count = 1; count <= 1000; ++count) {
    if (vote.count_other(values, kNow)) return count;
  }
  return 0;
}

TEST(ValuesVote, lets_others_take_over_that_are_alone) {
  ValuesVote vote;
  vote.count_own();
  EXPECT_EQ(until_they_prevail(vote, "TZ=UTC"), ValuesVote::kLeast);
}

TEST(ValuesVote, keeps_its_own_as_long_as_others_are_as_many) {
  ValuesVote vote;
  for (int i = 0; i < 1000; ++i) {
    vote.count_own();
    EXPECT_FALSE(vote.count_other("TZ=UTC", kNow));
  }
}

TEST(ValuesVote, is_not_taken_over_by_many_values_together) {
  ValuesVote vote;
  for (int i = 0; i < 10'000; ++i) {
    if (i % 4 == 0) vote.count_own();
    EXPECT_FALSE(vote.count_other(std::to_string(i), kNow));
  }
}

TEST(ValuesVote, forgets_what_was_long_ago) {
  ValuesVote vote;
  for (int i = 0; i < 100'000; ++i) vote.count_own();
  const unsigned needed = until_they_prevail(vote, "TZ=UTC");
  EXPECT_GT(needed, ValuesVote::kLeast);
  EXPECT_LE(needed, 3 * ValuesVote::kMemory);
}

TEST(ValuesVote, hears_new_ones_again_when_those_before_are_forgotten) {
  ValuesVote vote;
  for (int i = 0; i < 10'000; ++i) (void)vote.count_other(std::to_string(i), kNow);
  const unsigned needed = until_they_prevail(vote, "TZ=UTC");
  EXPECT_GT(needed, 0u);
  EXPECT_LE(needed, 3 * ValuesVote::kMemory);
}

TEST(ValuesVote, does_not_change_twice_in_a_short_time) {
  ValuesVote vote;
  vote.start_anew(kNow);
  EXPECT_EQ(until_they_prevail(vote, "TZ=UTC"), 0u);
  EXPECT_TRUE(vote.count_other("TZ=UTC", kNow + ValuesVote::kPause));
}

}  // namespace
}  // namespace policy
