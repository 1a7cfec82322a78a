#include "worker/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "loop/timer.h"

namespace worker {
namespace {

class ChannelTest : public testing::Test, public ChannelOwner {
 protected:
  ChannelTest() : ends_(make_channel().take()) {
    channel_ = std::make_unique<Channel>(loop_, std::move(ends_.first), *this);
  }

  // ChannelOwner
  void on_message(const message::Received& received) override {
    told_.push_back("message " + std::to_string(received.type));
  }
  void on_broken(ChannelEnd end, const std::string& why) override {
    told_.push_back(std::to_string(static_cast<int>(end)) + " " + why);
  }

  void say(const std::string& bytes) {
    EXPECT_EQ(::send(ends_.second.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  void say_ready() {
    const message_header header{MESSAGE_MAGIC, MESSAGE_VERSION, MESSAGE_READY,
                                sizeof(message_ready)};
    const message_ready body{42, 0};
    say(std::string(reinterpret_cast<const char*>(&header), sizeof header) +
        std::string(reinterpret_cast<const char*>(&body), sizeof body));
  }
  // Runs until this much was reported, and for a while after that.
  void run_until_told(std::size_t count) {
    const auto late = base::Clock::now() + std::chrono::seconds(20);
    do {
      loop::Timer end(loop_, [this] { loop_.stop(); });
      end.start(base::Duration(10));
      loop_.run();
    } while (told_.size() < count && base::Clock::now() < late);
  }

  using Told = std::vector<std::string>;
  loop::Loop loop_;
  base::FdPair ends_;
  std::unique_ptr<Channel> channel_;
  Told told_;
};

TEST_F(ChannelTest, tells_what_was_said_and_then_of_the_end) {
  say_ready();
  say_ready();
  ends_.second.reset();
  run_until_told(3);
  EXPECT_EQ(told_, (Told{"message 5", "message 5", "0 closed"}));
}

// The kernel reports the unread packet first, and then what the other side sent after it.
TEST_F(ChannelTest, tells_of_the_end_that_what_was_sent_was_not_read) {
  ASSERT_TRUE(channel_->send("x", {}).ok());
  say_ready();
  ends_.second.reset();
  run_until_told(2);
  EXPECT_EQ(told_, (Told{"message 5", "1 closed"}));
}

TEST_F(ChannelTest, is_broken_by_what_is_no_message) {
  say("nonsense");
  say_ready();
  run_until_told(1);
  EXPECT_EQ(told_, (Told{"2 malformed message: shorter than a header"}));
}

TEST_F(ChannelTest, tells_at_once_when_it_is_drained) {
  say_ready();
  ends_.second.reset();
  channel_->drain();
  EXPECT_EQ(told_, (Told{"message 5", "0 closed"}));
  channel_->drain();
  run_until_told(2);
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(ChannelTest, still_hears_when_it_has_hung_up) {
  channel_->hang_up();
  char byte;
  EXPECT_EQ(::recv(ends_.second.get(), &byte, 1, 0), 0);
  say_ready();
  run_until_told(1);
  EXPECT_EQ(told_, (Told{"message 5"}));
}

}  // namespace
}  // namespace worker
