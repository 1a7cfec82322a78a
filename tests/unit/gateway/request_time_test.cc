#include "gateway/request_time.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gateway {
namespace {

using base::Duration;

TEST(AfterItsOutput, ends_once_the_kernel_says_so) {
  const ProcessLook ending{.is_exiting = true, .is_asleep = true, .used = Duration(5000)};
  EXPECT_EQ(after_its_output({}, ending, Duration(60'000)), After::ends);
}

TEST(AfterItsOutput, may_end_while_it_waits_for_a_processor) {
  const ProcessLook first{.used = Duration(100)};
  EXPECT_EQ(after_its_output(first, first, Duration(999)), After::may_end);
  EXPECT_EQ(after_its_output(first, {.used = Duration(110)}, Duration(500)), After::may_end);
}

TEST(AfterItsOutput, goes_on_where_it_works_sleeps_or_lasts_longer_than_an_end) {
  const ProcessLook first{.used = Duration(100)};
  EXPECT_EQ(after_its_output(first, {.used = Duration(120)}, Duration(5)), After::goes_on);
  EXPECT_EQ(after_its_output(first, {.is_asleep = true}, Duration(9)), After::may_end);
  EXPECT_EQ(after_its_output(first, {.is_asleep = true}, Duration(10)), After::goes_on);
  EXPECT_EQ(after_its_output(first, first, Duration(1000)), After::goes_on);
}

TEST(LookAtProcess, tells_of_one_that_runs_and_nothing_of_one_that_is_not_there) {
  const ProcessLook own = look_at_process(::getpid());
  EXPECT_FALSE(own.is_exiting);
  EXPECT_FALSE(own.is_asleep);
  const ProcessLook none = look_at_process(-1);
  EXPECT_FALSE(none.is_exiting || none.is_asleep);
  EXPECT_EQ(none.used, Duration(0));
}

}  // namespace
}  // namespace gateway
