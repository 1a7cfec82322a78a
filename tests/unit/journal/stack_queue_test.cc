// Which program is inspected, and which request waits. The readers are programs that take as long
// as the test wants; they get the program's pid as their argument.
#include "journal/stack_queue.h"

#include <gtest/gtest.h>

#include "worker/child_reaper.h"

namespace journal {
namespace {

using namespace std::chrono_literals;

class StackQueueTest : public ::testing::Test {
 protected:
  // on_stack: notes what was reported about that program.
  std::unique_ptr<StackQueue::Turn> look_at(StackQueue& queue, pid_t program) {
    return queue.look_at(program, [this, program](const std::string& text) {
      told_.emplace_back(program, text);
      loop_.stop();
    });
  }

  void run_until_told(std::size_t count) {
    loop::Timer late(loop_, [this] {
      late_ = true;
      loop_.stop();
    });
    late.start(20s);
    while (told_.size() < count && !late_) loop_.run();
    ASSERT_FALSE(late_);
  }

  loop::Loop loop_;
  worker::ChildReaper reaper_{loop_};
  std::vector<std::pair<pid_t, std::string>> told_;
  bool late_ = false;
};

TEST_F(StackQueueTest, looks_at_all_that_wait_one_after_the_other) {
  StackQueue queue(loop_, reaper_, "/bin/echo");
  queue.set_readers(1);
  std::vector<std::unique_ptr<StackQueue::Turn>> turns;
  for (pid_t program = 101; program <= 104; ++program) turns.push_back(look_at(queue, program));
  EXPECT_EQ(turns[0], nullptr) << "the first need not wait";
  EXPECT_NE(turns[1], nullptr);
  run_until_told(4);
  using Told = std::vector<std::pair<pid_t, std::string>>;
  EXPECT_EQ(told_, (Told{{101, "101\n"}, {102, "102\n"}, {103, "103\n"}, {104, "104\n"}}));
  EXPECT_EQ(queue.looks(), 4u);
  EXPECT_EQ(queue.left_out(), 0u);
}

TEST_F(StackQueueTest, tells_of_one_that_is_over_before_its_turn) {
  StackQueue queue(loop_, reaper_, "/bin/sleep");
  queue.set_readers(1);
  EXPECT_EQ(look_at(queue, 1000), nullptr);
  auto second = look_at(queue, 1001), third = look_at(queue, 1002);
  second.reset();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].first, 1001);
  EXPECT_EQ(told_[0].second, "no stack: it was over before its turn; others were read\n");
  EXPECT_EQ(queue.looks(), 1u);
  EXPECT_EQ(queue.left_out(), 1u);
}

TEST_F(StackQueueTest, is_bounded) {
  StackQueue queue(loop_, reaper_, "/bin/sleep");
  queue.set_readers(1);
  EXPECT_EQ(look_at(queue, 1000), nullptr);
  std::vector<std::unique_ptr<StackQueue::Turn>> turns;
  for (std::size_t i = 0; i < StackQueue::kWaitingPerReader; ++i) {
    turns.push_back(look_at(queue, 1001));
    EXPECT_NE(turns.back(), nullptr);
  }
  EXPECT_EQ(look_at(queue, 1002), nullptr);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].second, "no stack: too many others wait for theirs\n");
  EXPECT_EQ(queue.left_out(), 1u);
}

TEST_F(StackQueueTest, says_why_it_cannot_look) {
  StackQueue queue(loop_, reaper_, "/no/such/reader");
  EXPECT_EQ(look_at(queue, 1000), nullptr);
  run_until_told(1);
  EXPECT_TRUE(told_[0].second.starts_with("no stack: ")) << told_[0].second;
}

}  // namespace
}  // namespace journal
