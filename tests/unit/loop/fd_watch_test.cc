#include "loop/fd_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "loop/timer.h"

namespace loop {
namespace {

class FdWatchTest : public testing::Test {
 protected:
  FdWatchTest() : pipe_(base::make_pipe().take()) {}

  void write_byte() { EXPECT_EQ(::write(pipe_.second.get(), "x", 1), 1); }
  int reading_end() const { return pipe_.first.get(); }

  Loop loop_;
  base::FdPair pipe_;
};

TEST_F(FdWatchTest, tells_of_bytes_that_can_be_read) {
  unsigned happened = kNothing;
  FdWatch watch(loop_, reading_end(), [&](unsigned readiness) {
    happened = readiness;
    loop_.stop();
  });
  watch.ask(kReadable);
  write_byte();
  loop_.run();
  EXPECT_EQ(happened, unsigned{kReadable});
}

TEST_F(FdWatchTest, tells_of_a_closed_other_end_as_readable) {
  unsigned happened = kNothing;
  FdWatch watch(loop_, reading_end(), [&](unsigned readiness) {
    happened = readiness;
    loop_.stop();
  });
  watch.ask(kReadable);
  pipe_.second.reset();
  loop_.run();
  EXPECT_EQ(happened, unsigned{kReadable});
}

// Method: the byte is left unread; another one arrives after the first was reported.
TEST_F(FdWatchTest, tells_once_of_what_is_new_if_asked_for_that) {
  int calls = 0;
  FdWatch watch(loop_, reading_end(), [&](unsigned readiness) {
    EXPECT_EQ(readiness, unsigned{kReadable});
    if (++calls == 1) write_byte();
  });
  watch.ask(kReadable | kOnlyNew);
  write_byte();
  Timer end(loop_, [&] { loop_.stop(); });
  const auto late = base::Clock::now() + std::chrono::seconds(20);
  do {
    end.start(base::Duration(20));
    loop_.run();
  } while (calls < 2 && base::Clock::now() < late);
  EXPECT_EQ(calls, 2);
}

TEST_F(FdWatchTest, tells_of_what_was_left_once_it_is_asked_for_all) {
  int calls = 0;
  FdWatch watch(loop_, reading_end(), [&](unsigned) {
    if (++calls == 2) return loop_.stop();
    watch.ask(kReadable);
  });
  watch.ask(kReadable | kOnlyNew);
  write_byte();
  loop_.run();
  EXPECT_EQ(calls, 2);
}

TEST_F(FdWatchTest, tells_of_a_hang_up_only_when_the_other_end_does_not_read_either) {
  base::FdPair sockets = base::make_socket_pair(SOCK_STREAM).take();
  std::vector<unsigned> happened;
  FdWatch watch(loop_, sockets.first.get(), [&](unsigned readiness) {
    happened.push_back(readiness);
    loop_.stop();
  });
  Timer end(loop_, [&] { loop_.stop(); });
  watch.ask(kHungUp);
  ASSERT_EQ(::shutdown(sockets.second.get(), SHUT_WR), 0);
  end.start(base::Duration(20));
  loop_.run();
  EXPECT_EQ(happened, std::vector<unsigned>{});
  sockets.second.reset();
  end.start(base::Duration(20'000));
  loop_.run();
  EXPECT_EQ(happened, std::vector<unsigned>{kHungUp});
}

TEST_F(FdWatchTest, is_silent_while_paused_even_if_the_other_end_closes) {
  int calls = 0;
  FdWatch watch(loop_, reading_end(), [&](unsigned) { ++calls; });
  watch.ask(kReadable);
  watch.ask(kNothing);
  pipe_.second.reset();
  Timer end(loop_, [&] { loop_.stop(); });
  end.start(base::Duration(5));
  loop_.run();
  EXPECT_EQ(calls, 0);
}

TEST_F(FdWatchTest, may_destroy_itself_in_its_callback) {
  std::unique_ptr<FdWatch> watch;
  watch = std::make_unique<FdWatch>(loop_, reading_end(), [&](unsigned) {
    watch.reset();
    loop_.stop();
  });
  watch->ask(kReadable);
  write_byte();
  loop_.run();
  EXPECT_EQ(watch, nullptr);
}

// Goal: destroying cancels, also events that the kernel has already reported. Method: two ready
// watches, of which the first to run destroys the other.
TEST_F(FdWatchTest, destroyed_by_another_in_the_same_turn_hears_nothing) {
  base::FdPair other = base::make_pipe().take();
  std::unique_ptr<FdWatch> first, second;
  int calls = 0;
  first = std::make_unique<FdWatch>(loop_, reading_end(), [&](unsigned) {
    ++calls;
    second.reset();
    loop_.stop();
  });
  second = std::make_unique<FdWatch>(loop_, other.first.get(), [&](unsigned) {
    ++calls;
    first.reset();
    loop_.stop();
  });
  first->ask(kReadable);
  second->ask(kReadable);
  write_byte();
  EXPECT_EQ(::write(other.second.get(), "x", 1), 1);
  loop_.run();
  EXPECT_EQ(calls, 1);
}

TEST(Deferred, runs_once_a_turn_however_often_it_was_asked_for) {
  Loop loop;
  int runs = 0;
  Deferred work(loop, [&] {
    ++runs;
    loop.stop();
  });
  work.schedule();
  work.schedule();
  loop.run();
  EXPECT_EQ(runs, 1);
}

TEST(Deferred, is_cancelled_by_destroying_it) {
  Loop loop;
  int runs = 0;
  {
    Deferred work(loop, [&] { ++runs; });
    work.schedule();
  }
  Timer end(loop, [&] { loop.stop(); });
  end.start(base::Duration(1));
  loop.run();
  EXPECT_EQ(runs, 0);
}

TEST(Timer, may_be_destroyed_in_its_own_callback) {
  Loop loop;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(loop, [&] {
    timer.reset();
    loop.stop();
  });
  timer->start(base::Duration(1));
  loop.run();
  EXPECT_EQ(timer, nullptr);
}

// The number of a descriptor that is closed may be reused at once: the new watch gets no event of
// the old one, but does get its own.
TEST_F(FdWatchTest, may_follow_another_one_of_the_same_number) {
  int old_calls = 0, new_calls = 0;
  auto watch = std::make_unique<FdWatch>(loop_, reading_end(), [&](unsigned) { ++old_calls; });
  watch->ask(kReadable);
  write_byte();
  watch.reset();
  const int number = reading_end();
  pipe_.first.reset();
  base::FdPair other = base::make_pipe().take();
  ASSERT_EQ(other.first.get(), number);
  FdWatch again(loop_, number, [&](unsigned) {
    ++new_calls;
    loop_.stop();
  });
  again.ask(kReadable);
  ASSERT_EQ(::write(other.second.get(), "y", 1), 1);
  loop_.run();
  EXPECT_EQ(old_calls, 0);
  EXPECT_EQ(new_calls, 1);
}

// Method: the reading end of a full pipe is closed, and what was asked for is changed meanwhile.
TEST_F(FdWatchTest, tells_of_an_error_as_long_as_it_is_asked) {
  int calls = 0;
  FdWatch watch(loop_, pipe_.second.get(), [&](unsigned happened) {
    EXPECT_EQ(happened, unsigned{kWritable});
    if (++calls == 3) loop_.stop();
  });
  const std::string all(1 << 20, 'x');
  ASSERT_EQ(::fcntl(pipe_.second.get(), F_SETFL, O_NONBLOCK), 0);
  ASSERT_GT(::write(pipe_.second.get(), all.data(), all.size()), 0);
  watch.ask(kWritable);
  EXPECT_FALSE(loop_.turn());
  pipe_.first.reset();
  loop_.run();
  EXPECT_EQ(calls, 3);
  watch.ask(kNothing);
  for (int i = 0; i < 3; ++i) loop_.turn();
  EXPECT_EQ(calls, 3);
}

// Both ends of a socket are gone, in each way to ask.
TEST_F(FdWatchTest, tells_everything_that_was_asked_for_once_the_other_end_is_closed) {
  for (const unsigned asked : {unsigned{kReadable}, unsigned{kPeerGone}, unsigned{kHungUp},
                               kReadable | kPeerGone | kOnlyNew, kReadable | kPeerGone}) {
    base::FdPair sockets = base::make_socket_pair(SOCK_STREAM).take();
    unsigned told = kNothing;
    FdWatch watch(loop_, sockets.first.get(), [&](unsigned happened) {
      told |= happened;
      loop_.stop();
    });
    watch.ask(asked);
    EXPECT_FALSE(loop_.turn() && told != kNothing);
    sockets.second.reset();
    loop_.run();
    EXPECT_EQ(told, asked & ~kOnlyNew);
  }
}

}  // namespace
}  // namespace loop
