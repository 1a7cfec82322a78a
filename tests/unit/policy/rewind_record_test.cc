#include "policy/rewind_record.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

TEST(RewindRecord, is_all_zero_without_a_rewind) {
  const RewindRecord record;
  EXPECT_EQ(record.rewinds(), 0u);
  EXPECT_EQ(record.pages().p99, 0u);
  EXPECT_EQ(record.usual_time().count(), 0);
}

TEST(RewindRecord, tells_half_and_the_slowest_hundredth) {
  RewindRecord record;
  for (std::uint32_t i = 1; i <= 100; ++i) record.add(1, i, 1000 + i);
  EXPECT_EQ(record.pages().p50, 50u);
  EXPECT_EQ(record.pages().p99, 99u);
  EXPECT_EQ(record.microseconds().p50, 1050u);
  EXPECT_EQ(record.tracking(), 1u);
}

TEST(RewindRecord, keeps_the_last_ones_only) {
  RewindRecord record;
  for (std::size_t i = 0; i < RewindRecord::kKept; ++i) record.add(1, 7, 7);
  for (std::size_t i = 0; i < RewindRecord::kKept; ++i) record.add(2, 9, 9);
  EXPECT_EQ(record.rewinds(), 2 * RewindRecord::kKept);
  EXPECT_EQ(record.pages().p50, 9u);
  EXPECT_EQ(record.microseconds().p99, 9u);
}

TEST(RewindRecord, learns_how_long_a_rewind_usually_takes) {
  RewindRecord record;
  for (int i = 0; i < 200; ++i) record.add(1, 1, 100);
  EXPECT_GE(record.usual_time().count(), 100);
  EXPECT_LE(record.usual_time().count(), 200);
  record.add(1, 1, 4'000'000'000u);
  EXPECT_LE(record.usual_time().count(), 20'000);
}

}  // namespace
}  // namespace policy
