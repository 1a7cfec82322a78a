#include "policy/backoff.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, doubles_the_pause_up_to_the_most) {
  Backoff backoff(1s, 5s);
  EXPECT_EQ(backoff.failed(), 1s);
  EXPECT_EQ(backoff.failed(), 2s);
  EXPECT_EQ(backoff.failed(), 4s);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(backoff.failed(), 5s);
}

TEST(Backoff, lets_the_first_failures_be_tried_again_at_once) {
  Backoff backoff(1s, 5s, 2);
  EXPECT_EQ(backoff.failed(), 0s);
  EXPECT_EQ(backoff.failed(), 0s);
  EXPECT_EQ(backoff.failed(), 1s);
  EXPECT_EQ(backoff.failures(), 3u);
}

TEST(Backoff, begins_anew_behind_a_success) {
  Backoff backoff(1s, 5s);
  backoff.failed();
  backoff.failed();
  backoff.succeeded();
  EXPECT_EQ(backoff.failed(), 1s);
}

}  // namespace
}  // namespace policy
