#include "loop/timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "fakes/manual_loop.h"

namespace loop {
namespace {

using base::Clock;
using base::Duration;

class TimerTest : public testing::Test {
 protected:
  std::unique_ptr<Timer> noting(int number) {
    return std::make_unique<Timer>(loop_, [this, number] { due_.push_back(number); });
  }

  void run_for(Duration time) { EXPECT_TRUE(manual_.advance(time)); }

  fakes::ManualLoop manual_;
  Loop& loop_ = manual_.loop();
  std::vector<int> due_;
};

TEST_F(TimerTest, is_due_once_and_at_its_time) {
  const auto start = loop_.now();
  auto due_at = start;
  Timer timer(loop_, [&] {
    due_at = loop_.now();
    due_.push_back(1);
  });
  timer.start(Duration(3));
  run_for(std::chrono::hours(12));
  EXPECT_EQ(due_, std::vector<int>{1});
  EXPECT_EQ(due_at - start, Duration(3));
}

TEST(Timer, is_never_early_by_the_machine_s_clock) {
  Loop loop;
  const auto start = Clock::now();
  Timer timer(loop, [&loop] { loop.stop(); });
  timer.start(Duration(3));
  loop.run();
  EXPECT_GE(Clock::now() - start, Duration(3));
}

TEST_F(TimerTest, is_due_in_the_order_of_the_times) {
  const auto third = noting(3), first = noting(1), second = noting(2);
  third->start(Duration(60));
  first->start(Duration(20));
  second->start(Duration(40));
  run_for(Duration(100));
  EXPECT_EQ(due_, (std::vector<int>{1, 2, 3}));
}

TEST_F(TimerTest, counts_from_the_last_start) {
  const auto moved_back = noting(2), other = noting(1);
  moved_back->start(Duration(1));
  other->start(Duration(3));
  moved_back->start(Duration(5));
  run_for(Duration(10));
  EXPECT_EQ(due_, (std::vector<int>{1, 2}));
}

TEST_F(TimerTest, is_never_due_once_stopped_or_destroyed) {
  const auto stopped = noting(1);
  auto destroyed = noting(2);
  stopped->start(Duration(1));
  destroyed->start(Duration(1));
  stopped->stop();
  stopped->stop();
  destroyed.reset();
  run_for(Duration(4));
  EXPECT_TRUE(due_.empty());
}

TEST_F(TimerTest, may_destroy_itself_and_another_that_is_due) {
  auto other = noting(2);
  std::unique_ptr<Timer> self;
  self = std::make_unique<Timer>(loop_, [&] {
    due_.push_back(1);
    other.reset();
    self.reset();
  });
  self->start(Duration(0));
  other->start(Duration(0));
  run_for(Duration(3));
  EXPECT_EQ(due_, std::vector<int>{1});
}

TEST_F(TimerTest, that_starts_itself_again_at_once_lets_others_have_their_turn) {
  int turns = 0;
  Timer again(loop_, [&] {
    ++turns;
    again.start(Duration(0));
  });
  again.start(Duration(0));
  int others = 0;
  Timer other(loop_, [&] { ++others; });
  other.start(Duration(0));
  for (int i = 0; i < 3; ++i) (void)loop_.turn();
  EXPECT_EQ(turns, 3);
  EXPECT_EQ(others, 1);
}

// Timers that are not due must not lengthen the turn.
TEST_F(TimerTest, that_starts_itself_again_at_once_runs_once_a_turn_among_timers_not_due) {
  int runs = 0;
  Timer again(loop_, [&] {
    ++runs;
    again.start(Duration(0));
  });
  const auto later = noting(1), much_later = noting(2);
  later->start(Duration(1000));
  much_later->start(Duration(2000));
  again.start(Duration(0));
  for (int i = 0; i < 3; ++i) (void)loop_.turn();
  EXPECT_EQ(runs, 3);
  EXPECT_TRUE(due_.empty());
}

// The first callback starts a timer that was due, and one that was not running.
TEST_F(TimerTest, started_by_a_callback_waits_for_the_next_turn) {
  const auto moved = noting(2), added = noting(3), other = noting(4);
  Timer first(loop_, [&] {
    due_.push_back(1);
    moved->start(Duration(0));
    added->start(Duration(0));
  });
  first.start(Duration(0));
  moved->start(Duration(0));
  other->start(Duration(0));
  (void)loop_.turn();
  EXPECT_EQ(due_, (std::vector<int>{1, 4}));
  (void)loop_.turn();
  EXPECT_EQ(due_, (std::vector<int>{1, 4, 2, 3}));
}

// The heap's order under random starts, stops and moves: the remaining timers are due in order.
TEST_F(TimerTest, keeps_the_order_whatever_was_stopped_and_moved) {
  std::mt19937 random(7);
  std::vector<std::unique_ptr<Timer>> timers;
  std::vector<int> delays(200, -1);
  for (int i = 0; i < 200; ++i) {
    timers.push_back(std::make_unique<Timer>(
        loop_, [this, &delays, i] { due_.push_back(delays[static_cast<std::size_t>(i)]); }));
  }
  for (int step = 0; step < 2000; ++step) {
    const std::size_t which = random() % timers.size();
    const bool stops = random() % 3 == 0;
    delays[which] = stops ? -1 : static_cast<int>(1 + random() % 50);
    if (stops) {
      timers[which]->stop();
    } else {
      timers[which]->start(Duration(delays[which]));
    }
  }
  run_for(Duration(50));
  const auto running = std::count_if(delays.begin(), delays.end(), [](int d) { return d > 0; });
  EXPECT_EQ(due_.size(), static_cast<std::size_t>(running));
  EXPECT_TRUE(std::is_sorted(due_.begin(), due_.end()));
}

}  // namespace
}  // namespace loop
