#include "loop/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "fakes/manual_loop.h"
#include "loop/fd_watch.h"
#include "loop/signal_watch.h"
#include "loop/timer.h"

namespace loop {
namespace {

class LoopTest : public testing::Test {
 protected:
  // Ends a test that waits for something that does not come.
  LoopTest() : patience_(loop_, [this] { loop_.stop(); }) { patience_.start(base::Duration(5000)); }

  Loop loop_;
  Timer patience_;
};

TEST_F(LoopTest, does_deferred_work_once_at_the_end_of_the_turn) {
  std::vector<std::string> order;
  Deferred work(loop_, [&] {
    order.push_back("work");
    loop_.stop();
  });
  Timer event(loop_, [&] {
    work.schedule();
    work.schedule();
    order.push_back("event");
  });
  event.start(base::Duration(0));
  loop_.run();
  EXPECT_EQ(order, (std::vector<std::string>{"event", "work"}));
}

TEST(LoopTime, stands_still_throughout_a_turn) {
  fakes::ManualLoop manual;
  Loop& loop = manual.loop();
  std::vector<base::TimePoint> seen;
  const auto look = [&] {
    seen.push_back(loop.now());
    manual.clock().advance(std::chrono::seconds(1));  // the time that the work takes
  };
  Deferred second(loop, look);
  Deferred first(loop, [&] {
    look();
    second.schedule();
  });
  first.schedule();
  const auto begin = loop.now();
  EXPECT_TRUE(loop.turn());
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], begin);
  EXPECT_EQ(seen[1], begin);
  EXPECT_EQ(loop.now(), begin + std::chrono::seconds(2));
  EXPECT_EQ(loop.measured_now(), manual.now());
}

TEST(LoopTime, runs_a_day_of_timers_in_their_order) {
  fakes::ManualLoop manual;
  Loop& loop = manual.loop();
  int minutes = 0;
  Timer* again = nullptr;
  Timer minute(loop, [&] {
    ++minutes;
    again->start(std::chrono::minutes(1));
  });
  again = &minute;
  minute.start(std::chrono::minutes(1));
  EXPECT_TRUE(manual.advance(std::chrono::hours(24)));
  EXPECT_EQ(minutes, 24 * 60);
}

TEST(LoopTime, that_never_rests_is_found_out) {
  fakes::ManualLoop manual;
  Deferred* again = nullptr;
  Timer timer(manual.loop(), [&] { again->schedule(); });
  Deferred endless(manual.loop(), [&] { timer.start(base::Duration(0)); });
  again = &endless;
  endless.schedule();
  EXPECT_FALSE(manual.settle());
}

TEST_F(LoopTest, tells_of_a_signal) {
  int told = 0;
  SignalWatch watch(loop_, SIGUSR1, [&] {
    ++told;
    loop_.stop();
  });
  Timer raise(loop_, [] { ::raise(SIGUSR1); });
  raise.start(base::Duration(1));
  loop_.run();
  EXPECT_EQ(told, 1);
}

TEST_F(LoopTest, tells_of_a_signal_whose_watch_was_made_while_it_ran) {
  int told = 0;
  std::unique_ptr<SignalWatch> watch;
  Timer raise(loop_, [] { ::raise(SIGUSR1); });
  Timer make(loop_, [&] {
    watch = std::make_unique<SignalWatch>(loop_, SIGUSR1, [&] {
      ++told;
      loop_.stop();
    });
    raise.start(base::Duration(1));
  });
  make.start(base::Duration(1));
  loop_.run();
  EXPECT_EQ(told, 1);
}

// An event that came in time must not be reported late, however long the bridge was held up.
TEST_F(LoopTest, tells_of_events_before_timers_that_are_due_as_well) {
  std::vector<std::string> order;
  base::FdPair pipe = base::make_pipe().take();
  ASSERT_EQ(::write(pipe.second.get(), "x", 1), 1);
  FdWatch watch(loop_, pipe.first.get(), [&](unsigned) {
    order.push_back("event");
    watch.ask(kNothing);
  });
  watch.ask(kReadable);
  Timer timer(loop_, [&] {
    order.push_back("timer");
    loop_.stop();
  });
  timer.start(base::Duration(0));
  loop_.run();
  EXPECT_EQ(order, (std::vector<std::string>{"event", "timer"}));
}

TEST_F(LoopTest, runs_again_after_a_stop) {
  int runs = 0;
  Timer timer(loop_, [&] {
    ++runs;
    loop_.stop();
  });
  timer.start(base::Duration(0));
  loop_.run();
  timer.start(base::Duration(0));
  loop_.run();
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace loop
