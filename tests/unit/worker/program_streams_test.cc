#include "worker/program_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace worker {
namespace {

std::string read_all(int fd) {
  char bytes[100];
  const ssize_t got = ::read(fd, bytes, sizeof bytes);
  return got < 0 ? "error" : std::string(bytes, static_cast<std::size_t>(got));
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(ProgramStreamsTest, gives_an_empty_input_without_a_body) {
  ProgramStreams streams;
  const auto fds = streams.descriptors();
  ASSERT_TRUE(fds);
  EXPECT_EQ(read_all(fds.value()[0]), "");
  EXPECT_FALSE(streams.take_body_end());
  const auto body = streams.body();
  ASSERT_TRUE(body);
  EXPECT_FALSE(body.value());
}

TEST(ProgramStreamsTest, passes_a_body_on) {
  ProgramStreams streams;
  streams.set_has_body();
  const auto fds = streams.descriptors();
  ASSERT_TRUE(fds);
  const base::UniqueFd end = streams.take_body_end();
  ASSERT_EQ(::write(end.get(), "body", 4), 4);
  EXPECT_EQ(read_all(fds.value()[0]), "body");
}

TEST(ProgramStreamsTest, gives_one_that_speaks_fastcgi_a_copy_of_the_same_pipe) {
  ProgramStreams streams;
  streams.set_has_body();
  auto body = streams.body();
  ASSERT_TRUE(body);
  const base::UniqueFd end = streams.take_body_end();
  ASSERT_EQ(::write(end.get(), "body", 4), 4);
  EXPECT_EQ(read_all(body.value().get()), "body");
  EXPECT_FALSE(streams.has_outputs());
  const auto fds = streams.descriptors();  // no worker took it: the program runs
  ASSERT_TRUE(fds);
  EXPECT_FALSE(streams.take_body_end());  // there is only one pipe
  ASSERT_EQ(::write(end.get(), "more", 4), 4);
  EXPECT_EQ(read_all(fds.value()[0]), "more");
}

TEST(ProgramStreamsTest, reads_a_file_from_its_start) {
  ProgramStreams streams;
  base::UniqueFd file(::memfd_create("body", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "kept", 4, 0), 4);
  streams.set_input(std::move(file));
  EXPECT_EQ(read_all(streams.descriptors().value()[0]), "kept");
}

TEST(ProgramStreamsTest, takes_kept_pipes_for_a_request_without_a_body) {
  auto kept = base::make_pipe().take();
  const int ours = kept.first.get();
  ProgramStreams streams;
  ASSERT_TRUE(streams.reuse(kept));
  EXPECT_FALSE(kept.first);
  EXPECT_EQ(streams.take_outputs().first.get(), ours);
  // If their worker never began, it gets new ones.
  ASSERT_TRUE(streams.descriptors());
  EXPECT_TRUE(streams.has_outputs());
  auto others = base::make_pipe().take();
  EXPECT_FALSE(streams.reuse(others));
  EXPECT_TRUE(others.first);
}

TEST(ProgramStreamsTest, takes_no_kept_pipes_with_a_body) {
  auto kept = base::make_pipe().take();
  ProgramStreams with_body, with_file;
  with_body.set_has_body();
  with_file.set_input(base::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  EXPECT_FALSE(with_body.reuse(kept));
  EXPECT_FALSE(with_file.reuse(kept));
  EXPECT_TRUE(kept.first && kept.second);
}

TEST(ProgramStreamsTest, gives_the_same_until_the_program_has_begun) {
  ProgramStreams streams;
  const auto first = streams.descriptors().value();
  EXPECT_EQ(streams.descriptors().value(), first);
  const base::FdPair ours = streams.take_outputs();
  EXPECT_FALSE(streams.has_outputs());
  ASSERT_EQ(::write(first[1], "out", 3), 3);
  ASSERT_EQ(::write(first[2], "err", 3), 3);
  EXPECT_EQ(read_all(ours.first.get()), "out");
  EXPECT_EQ(read_all(ours.second.get()), "err");
  streams.close_program_ends();
  for (const int fd : first) EXPECT_FALSE(is_open(fd));
  EXPECT_EQ(read_all(ours.first.get()), "");
}

TEST(ProgramStreamsTest, does_not_make_ours_wait) {
  ProgramStreams streams;
  streams.set_has_body();
  const auto fds = streams.descriptors().value();
  const base::FdPair ours = streams.take_outputs();
  const base::UniqueFd body = streams.take_body_end();
  for (const int fd : {ours.first.get(), ours.second.get(), body.get()}) {
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  }
  for (const int fd : fds) EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace worker
