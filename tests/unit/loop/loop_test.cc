#include "loop/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "loop/fd_watch.h"
#include "loop/signal_watch.h"
#include "loop/timer.h"

namespace loop {
namespace {

class LoopTest : public testing::Test {
 protected:
  // A test that waits for what does not come ends all the same.
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

// What came in time is not told to be late, however long the bridge was held up.
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
