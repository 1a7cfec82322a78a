#include "compare/comparison.h"

#include <gtest/gtest.h>

namespace compare {
namespace {

void count_one(Comparisons& comparisons, const std::string& program) {
  comparisons.of(program).arms[0].add(Observation(), base::TimePoint());
}

TEST(Comparisons, keep_what_is_known_of_each_program) {
  Comparisons comparisons;
  for (const char* program : {"/a", "/b", "/a"}) count_one(comparisons, program);
  EXPECT_EQ(comparisons.find("/a")->arms[0].requests(), 2u);
  EXPECT_EQ(comparisons.find("/b")->arms[0].requests(), 1u);
  EXPECT_EQ(comparisons.find("/c"), nullptr);
  EXPECT_EQ(comparisons.size(), 2u);
}

TEST(Comparisons, forget_the_one_that_was_asked_for_longest_ago) {
  Comparisons comparisons;
  comparisons.limit(2);
  for (const char* program : {"/a", "/b", "/a", "/c"}) count_one(comparisons, program);
  EXPECT_EQ(comparisons.find("/b"), nullptr);
  EXPECT_NE(comparisons.find("/a"), nullptr);
  EXPECT_NE(comparisons.find("/c"), nullptr);
}

TEST(Comparisons, do_not_take_finding_for_asking) {
  Comparisons comparisons;
  comparisons.limit(2);
  count_one(comparisons, "/a");
  count_one(comparisons, "/b");
  comparisons.find("/a");
  count_one(comparisons, "/c");
  EXPECT_EQ(comparisons.find("/a"), nullptr);
}

TEST(Comparisons, keep_the_newest_when_the_limit_falls) {
  Comparisons comparisons;
  for (int i = 0; i < 100; ++i) count_one(comparisons, std::to_string(i));
  comparisons.limit(3);
  EXPECT_EQ(comparisons.size(), 3u);
  EXPECT_NE(comparisons.find("97"), nullptr);
  comparisons.limit(0);
  EXPECT_EQ(comparisons.size(), 1u);
  EXPECT_NE(comparisons.find("99"), nullptr);
}

}  // namespace
}  // namespace compare
