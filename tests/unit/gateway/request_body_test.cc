#include "gateway/request_body.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "fakes/manual_loop.h"

namespace gateway {
namespace {

class RequestBodyTest : public testing::Test, public Answer {
 protected:
  // The program reads at most `bytes` bytes.
  std::string program_reads(std::size_t bytes = 65536) {
    std::string read(bytes, '\0');
    const ssize_t got = ::read(pipe_.first.get(), read.data(), bytes);
    read.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    loop_.settle();
    return read;
  }
  void begin_program() {
    pipe_ = base::make_pipe(base::NonblockingEnd::writing).take();
    body_.connect(std::move(pipe_.second));
    loop_.settle();
  }
  std::string take(const std::string& piece, std::uint64_t bytes_max = 0) {
    const auto refusal = body_.take(piece, bytes_max);
    return refusal ? std::to_string(refusal->status) + " " + refusal->reason : "";
  }

  fakes::ManualLoop loop_;
  int rooms_ = 0, pauses_ = 0;
  base::FdPair pipe_;
  RequestBody body_{loop_.loop(), *this, [this] { ++pauses_; }};

 private:
  // Answer
  base::OutBuffer& out() override { return out_; }
  bool has_room() const override { return true; }
  void wrote() override {}
  void body_room_changed() override { ++rooms_; }
  void finish(fastcgi::RequestId, std::uint32_t) override {}
  void break_off(fastcgi::RequestId, std::uint32_t) override {}

  base::OutBuffer out_;
};

TEST_F(RequestBodyTest, is_none_without_a_length) {
  ASSERT_TRUE(body_.open(std::nullopt, false));
  EXPECT_FALSE(body_.is_passed_on());
  EXPECT_FALSE(body_.is_kept());
  EXPECT_EQ(take("dropped", 3), "");
  EXPECT_EQ(body_.received(), 0U);
  body_.end();
  EXPECT_TRUE(body_.complete());
}

TEST_F(RequestBodyTest, is_passed_on_as_it_comes) {
  ASSERT_TRUE(body_.open(6, false));
  EXPECT_EQ(take("abc"), "");
  begin_program();
  EXPECT_EQ(program_reads(), "abc");
  EXPECT_EQ(take("def"), "");
  body_.end();
  EXPECT_EQ(program_reads(), "def");
  EXPECT_EQ(body_.received(), 6U);
}

TEST_F(RequestBodyTest, never_gives_more_than_was_announced) {
  ASSERT_TRUE(body_.open(2, false));
  EXPECT_EQ(take("abc"), "");
  begin_program();
  EXPECT_EQ(program_reads(), "ab");
}

TEST_F(RequestBodyTest, is_kept_whole_if_it_is_chunked) {
  ASSERT_TRUE(body_.open(std::nullopt, true));
  ASSERT_TRUE(body_.is_kept());
  EXPECT_EQ(take("abc"), "");
  EXPECT_EQ(take("def"), "");
  body_.end();
  const base::UniqueFd file = body_.take_kept();
  char bytes[10];
  EXPECT_EQ(::read(file.get(), bytes, sizeof bytes), 6);
}

TEST_F(RequestBodyTest, is_refused_beyond_the_limit) {
  ASSERT_TRUE(body_.open(std::nullopt, true));
  EXPECT_EQ(take("abc", 3), "");
  EXPECT_EQ(take("d", 3), "413 a body of more than 3 bytes (limits.body)");
}

TEST_F(RequestBodyTest, says_when_it_is_full_and_when_there_is_room) {
  ASSERT_TRUE(body_.open(1 << 20, false));
  begin_program();
  for (int i = 0; i < 3; ++i) take(std::string(65536, 'x'));
  EXPECT_TRUE(body_.full());
  loop_.advance(RequestBody::kPause);
  EXPECT_EQ(pauses_, 0);  // the client cannot go on
  while (body_.full()) ASSERT_NE(program_reads(), "");
  EXPECT_EQ(rooms_, 1);
}

TEST_F(RequestBodyTest, says_once_that_its_client_pauses) {
  ASSERT_TRUE(body_.open(100, false));
  begin_program();
  for (int i = 0; i < 5; ++i) {
    take("x");
    loop_.advance(RequestBody::kPause);
  }
  EXPECT_EQ(pauses_, 0);
  loop_.advance(10 * RequestBody::kPause);
  EXPECT_EQ(pauses_, 1);
}

TEST_F(RequestBodyTest, does_not_wait_for_a_body_that_is_whole) {
  ASSERT_TRUE(body_.open(1, false));
  begin_program();
  take("x");
  body_.end();
  loop_.advance(10 * RequestBody::kPause);
  EXPECT_EQ(pauses_, 0);
}

}  // namespace
}  // namespace gateway
