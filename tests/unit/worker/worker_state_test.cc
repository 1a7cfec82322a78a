#include "worker/worker_state.h"

#include <gtest/gtest.h>

namespace worker {
namespace {

using enum WorkerState;

TEST(WorkerState, ends_once) {
  for (std::size_t to = 0; to < kWorkerStates; ++to) {
    EXPECT_FALSE(may_follow(gone, WorkerState(to)));
    EXPECT_EQ(may_follow(ending, WorkerState(to)), WorkerState(to) == gone);
  }
}

TEST(WorkerState, can_end_from_everywhere) {
  for (std::size_t from = 0; from + 1 < kWorkerStates; ++from) {
    EXPECT_TRUE(may_follow(WorkerState(from), gone));
  }
}

TEST(WorkerState, takes_a_request_only_when_it_is_idle_or_was_launched_for_it) {
  for (const WorkerState from : {busy, resetting, checking, ending}) {
    EXPECT_FALSE(may_follow(from, busy));
  }
}

// A worker that is to be checked gets no request in between.
TEST(WorkerState, comes_from_its_reset_by_a_check) {
  EXPECT_TRUE(may_follow(busy, resetting));
  EXPECT_FALSE(may_follow(busy, checking));
  EXPECT_TRUE(may_follow(resetting, checking));
  EXPECT_TRUE(may_follow(checking, idle));
}

}  // namespace
}  // namespace worker
