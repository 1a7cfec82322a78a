#include "upstream/quiet_reader.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace upstream {
namespace {

class QuietReaderTest : public testing::Test {
 protected:
  QuietReaderTest() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    here_ = base::UniqueFd(fds[0]);
    there_ = base::UniqueFd(fds[1]);
  }

  void say(std::string_view text) {
    EXPECT_EQ(::send(there_.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }

  std::string read_quietly(std::size_t size = 64) {
    std::array<char, 64> bytes;
    const ssize_t got = reader_.read_quietly(here_.get(), bytes.data(), size);
    return got < 0 ? "nothing" : std::string(bytes.data(), static_cast<std::size_t>(got));
  }

  int left() const {
    int count = -1;
    EXPECT_EQ(::ioctl(here_.get(), FIONREAD, &count), 0);
    return count;
  }

  base::UniqueFd here_, there_;
  QuietReader reader_;
};

TEST_F(QuietReaderTest, leaves_what_it_read_until_that_is_let_go) {
  say("abc");
  EXPECT_EQ(read_quietly(), "abc");
  EXPECT_EQ(left(), 3);
  reader_.let_go(here_.get());
  EXPECT_EQ(left(), 0);
}

TEST_F(QuietReaderTest, reads_nothing_twice) {
  say("abc");
  EXPECT_EQ(read_quietly(2), "ab");
  EXPECT_EQ(read_quietly(), "c");
  EXPECT_EQ(read_quietly(), "nothing");
  say("d");
  EXPECT_EQ(read_quietly(), "d");
}

TEST_F(QuietReaderTest, lets_go_only_what_was_read) {
  say("abc");
  EXPECT_EQ(read_quietly(), "abc");
  say("def");
  reader_.let_go(here_.get());
  EXPECT_EQ(read_quietly(), "def");
}

TEST_F(QuietReaderTest, reads_the_end_behind_the_last_bytes) {
  say("abc");
  there_.reset();
  EXPECT_EQ(read_quietly(), "abc");
  EXPECT_EQ(read_quietly(), "");
}

TEST_F(QuietReaderTest, reads_aloud_what_came_behind_what_it_left) {
  say("abc");
  EXPECT_EQ(read_quietly(), "abc");
  say("def");
  std::array<char, 64> bytes;
  EXPECT_EQ(reader_.read(here_.get(), bytes.data(), bytes.size()), 3);
  EXPECT_EQ(bytes[0], 'd');
  EXPECT_EQ(left(), 0);
}

// Goal: the purpose of the class. Method: like nginx, the other end waits for an edge-triggered
// event.
TEST_F(QuietReaderTest, does_not_wake_the_other_end_before_it_lets_go) {
  const base::UniqueFd waiting(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  ASSERT_EQ(::epoll_ctl(waiting.get(), EPOLL_CTL_ADD, there_.get(), &event), 0);
  const auto is_woken = [&] { return ::epoll_wait(waiting.get(), &event, 1, 0) == 1; };
  EXPECT_TRUE(is_woken());  // there is room from the start
  say("abc");
  EXPECT_EQ(read_quietly(), "abc");
  EXPECT_FALSE(is_woken());
  reader_.let_go(here_.get());
  EXPECT_TRUE(is_woken());
}

}  // namespace
}  // namespace upstream
