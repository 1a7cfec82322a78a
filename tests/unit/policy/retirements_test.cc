#include "policy/retirements.h"

#include <gtest/gtest.h>

#include <set>

namespace policy {
namespace {

TEST(Retirements, have_a_name_each) {
  std::set<std::string_view> names;
  for (std::uint32_t reason = 0; reason < kRetirementKinds; ++reason) {
    EXPECT_FALSE(retirement_name(reason).empty());
    names.insert(retirement_name(reason));
  }
  EXPECT_EQ(names.size(), kRetirementKinds);
  EXPECT_EQ(retirement_name(RETIRED_FAULT), "fault");
  EXPECT_EQ(retirement_name(worker::kRetiredLeft), "left");
  EXPECT_EQ(retirement_name(kRetiredSilent), "silent");
  EXPECT_EQ(retirement_name(kRetiredMaxRequests), "max_requests");
  EXPECT_EQ(retirement_name(kRetiredMaxAge), "max_age");
  EXPECT_EQ(retirement_name(kRetiredMaxMemory), "max_memory");
}

TEST(Retirements, are_the_first_for_their_reason_once_a_generation) {
  Retirements retirements;
  EXPECT_TRUE(retirements.count(RETIRED_THREADS, "2 threads"));
  EXPECT_FALSE(retirements.count(RETIRED_THREADS, "3 threads"));
  EXPECT_TRUE(retirements.count(RETIRED_CALL, ""));
  retirements.start_anew();
  EXPECT_TRUE(retirements.count(RETIRED_THREADS, "2 threads"));
  EXPECT_EQ(retirements.counted(RETIRED_THREADS), 3u);
}

TEST(Retirements, are_too_many_only_when_the_window_is_full) {
  Retirements retirements;
  for (std::size_t i = 0; i + 1 < Retirements::kWindow; ++i) {
    retirements.count(RETIRED_THREADS, "");
    EXPECT_FALSE(retirements.more_than(0));
  }
  retirements.count(RETIRED_THREADS, "");
  EXPECT_TRUE(retirements.more_than(99));
  EXPECT_FALSE(retirements.more_than(100));
}

TEST(Retirements, count_the_last_requests_only) {
  Retirements retirements;
  for (std::size_t i = 0; i < Retirements::kWindow; ++i) retirements.count(RETIRED_THREADS, "");
  for (std::size_t i = 0; i < Retirements::kWindow - 10; ++i) retirements.count_stay();
  EXPECT_TRUE(retirements.more_than(19));
  EXPECT_FALSE(retirements.more_than(20));
  retirements.start_anew();
  EXPECT_FALSE(retirements.more_than(0));
}

TEST(Retirements, by_the_limits_of_a_worker_say_nothing_against_the_program) {
  Retirements retirements;
  for (std::size_t i = 0; i < Retirements::kWindow; ++i) retirements.count_stay();
  for (int i = 0; i < 100; ++i) {
    retirements.count(kRetiredMaxRequests, "");
    retirements.count(kRetiredMaxAge, "");
    retirements.count(kRetiredMaxMemory, "");
    retirements.count(kRetiredAnew, "");
  }
  EXPECT_FALSE(retirements.more_than(0));
}

TEST(Retirements, are_described_by_the_most_frequent_reason_and_its_last_words) {
  Retirements retirements;
  for (std::size_t i = 0; i < 20; ++i) retirements.count(RETIRED_THREADS, "2 threads");
  for (std::size_t i = 0; i < 5; ++i) retirements.count(RETIRED_CALL, "unshare");
  for (std::size_t i = 0; i < 25; ++i) retirements.count_stay();
  for (std::size_t i = 0; i < 99; ++i) retirements.count(kRetiredMaxMemory, "1 GiB");
  EXPECT_EQ(retirements.describe(),
            "25 of the last 50 requests left a worker that cannot be put back: mostly threads "
            "(2 threads)");
}

}  // namespace
}  // namespace policy
