#include "policy/self_check.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

const base::TimePoint kNow = base::TimePoint{} + std::chrono::hours(1);

RestingWorker resting(unsigned behaviours, int since_ms) {
  return {behaviours, kNow - milliseconds(since_ms)};
}

TEST(SelfCheck, looks_at_nobody_who_has_done_nothing_since) {
  EXPECT_EQ(SelfCheck().choose({}, kNow), std::nullopt);
  EXPECT_EQ(SelfCheck().choose({resting(0, 1000)}, kNow), std::nullopt);
}

TEST(SelfCheck, leaves_one_alone_that_has_hardly_come_to_rest) {
  const int rest = static_cast<int>(SelfCheck::kRest.count());
  EXPECT_EQ(SelfCheck().choose({resting(kOrdinary, rest - 1)}, kNow), std::nullopt);
  EXPECT_EQ(SelfCheck().choose({resting(kOrdinary, rest)}, kNow), 0u);
}

TEST(SelfCheck, takes_the_one_that_waits_longest_among_equals) {
  EXPECT_EQ(SelfCheck().choose({resting(1, 100), resting(1, 300), resting(1, 200)}, kNow), 1u);
}

TEST(SelfCheck, takes_the_newest_behaviour_first) {
  SelfCheck check;
  check.compared(kOrdinary, kNow - milliseconds(500), microseconds(1), 100);
  EXPECT_EQ(check.choose({resting(kOrdinary, 300), resting(kOrdinary | kForked, 30)}, kNow), 1u);
  check.compared(kOrdinary | kForked, kNow - milliseconds(400), microseconds(1), 100);
  EXPECT_EQ(
      check.choose({resting(kOrdinary | kForked, 300), resting(kOrdinary | kLoaded, 30)}, kNow),
      1u);
}

TEST(SelfCheck, takes_no_more_of_the_time_than_it_may) {
  SelfCheck check;
  check.compared(kOrdinary, kNow, microseconds(1000), 2);
  const std::vector<RestingWorker> workers{resting(kOrdinary, 100)};
  EXPECT_EQ(check.choose(workers, kNow), std::nullopt);
  EXPECT_EQ(check.wait(kNow), milliseconds(49));
  EXPECT_EQ(check.choose(workers, kNow + milliseconds(48)), std::nullopt);
  EXPECT_EQ(check.choose(workers, kNow + milliseconds(49)), 0u);
}

TEST(SelfCheck, waits_a_moment_if_nothing_else_holds_it_back) {
  EXPECT_EQ(SelfCheck().wait(kNow), SelfCheck::kRest);
}

}  // namespace
}  // namespace policy
