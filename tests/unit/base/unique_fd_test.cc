#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace base {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

TEST(UniqueFd, closes_what_it_holds) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  const int fd = pipe.value().first.get();
  pipe.value().first.reset();
  EXPECT_FALSE(is_open(fd));
  pipe.value().first.reset();
}

TEST(UniqueFd, hands_over_by_moving) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  const int fd = pipe.value().first.get();
  const UniqueFd other = std::move(pipe.value().first);
  EXPECT_FALSE(pipe.value().first);
  EXPECT_EQ(other.get(), fd);
  EXPECT_TRUE(is_open(fd));
}

TEST(MakePipe, gives_ends_that_no_program_inherits) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  EXPECT_EQ(::fcntl(pipe.value().first.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(pipe.value().second.get(), F_GETFD), FD_CLOEXEC);
}

TEST(MakePipe, makes_only_the_end_asked_for_nonblocking) {
  const auto flags = [](const UniqueFd& fd) { return ::fcntl(fd.get(), F_GETFL) & O_NONBLOCK; };
  const auto neither = make_pipe().take();
  EXPECT_EQ(flags(neither.first), 0);
  EXPECT_EQ(flags(neither.second), 0);
  const auto reading = make_pipe(NonblockingEnd::reading).take();
  EXPECT_EQ(flags(reading.first), O_NONBLOCK);
  EXPECT_EQ(flags(reading.second), 0);
  const auto writing = make_pipe(NonblockingEnd::writing).take();
  EXPECT_EQ(flags(writing.first), 0);
  EXPECT_EQ(flags(writing.second), O_NONBLOCK);
}

TEST(MakeEmptyInput, ends_at_once_and_shares_no_flags) {
  const auto one = make_empty_input().take();
  const auto other = make_empty_input().take();
  ::fcntl(one.get(), F_SETFL, O_NONBLOCK);
  EXPECT_EQ(::fcntl(other.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(other.get(), F_GETFD), FD_CLOEXEC);
  char byte;
  EXPECT_EQ(::read(other.get(), &byte, 1), 0);
}

TEST(SetNonblocking, makes_a_read_of_an_empty_pipe_return) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  set_nonblocking(pipe.value().first.get());
  char byte;
  EXPECT_EQ(::read(pipe.value().first.get(), &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace base
