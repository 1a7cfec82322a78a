#include "gateway/request_time.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "fakes/manual_loop.h"
#include "gateway/response_stream.h"
#include "loop/fd_watch.h"

namespace gateway {
namespace {

using base::Duration;

TEST(AfterItsOutput, ends_once_the_kernel_says_so) {
  const ProcessLook ending{.is_exiting = true, .is_asleep = true, .used = Duration(5000)};
  EXPECT_EQ(after_its_output({}, ending, Duration(60'000)), After::ends);
}

TEST(AfterItsOutput, may_end_while_it_waits_for_a_processor) {
  const ProcessLook first{.used = Duration(100)};
  EXPECT_EQ(after_its_output(first, first, Duration(999)), After::may_end);
  EXPECT_EQ(after_its_output(first, {.used = Duration(110)}, Duration(500)), After::may_end);
}

TEST(AfterItsOutput, goes_on_where_it_works_sleeps_or_lasts_longer_than_an_end) {
  const ProcessLook first{.used = Duration(100)};
  EXPECT_EQ(after_its_output(first, {.used = Duration(120)}, Duration(5)), After::goes_on);
  EXPECT_EQ(after_its_output(first, {.is_asleep = true}, Duration(9)), After::may_end);
  EXPECT_EQ(after_its_output(first, {.is_asleep = true}, Duration(10)), After::goes_on);
  EXPECT_EQ(after_its_output(first, first, Duration(1000)), After::goes_on);
}

TEST(LookAtProcess, tells_of_one_that_runs_and_nothing_of_one_that_is_not_there) {
  const ProcessLook own = look_at_process(::getpid());
  EXPECT_FALSE(own.is_exiting);
  EXPECT_FALSE(own.is_asleep);
  const ProcessLook none = look_at_process(-1);
  EXPECT_FALSE(none.is_exiting || none.is_asleep);
  EXPECT_EQ(none.used, Duration(0));
}

// A program that has closed its output, and sleeps.
class RequestTimeTest : public testing::Test,
                        public Answer,
                        public ResponseEvents,
                        public RequestTimeOwner {
 protected:
  RequestTimeTest() : sleeper_(::fork()) {
    if (sleeper_ == 0) {
      for (;;) ::pause();
    }
    while (!look_at_process(sleeper_).is_asleep) ::usleep(100);
  }
  ~RequestTimeTest() override {
    ::kill(sleeper_, SIGKILL);
    ::waitpid(sleeper_, nullptr, 0);
  }

  const pid_t sleeper_;
  fakes::ManualLoop manual_;
  base::OutBuffer out_;
  ResponseStream stream_{
      manual_.loop(), *this, *this, {.head_bytes_max = base::kKiB}, [] { return "test"; }};
  config::ProgramSettings::Timeouts timeouts_;
  RequestTime::Counts counts_;
  int answered_ = 0;
  std::unique_ptr<RequestTime> time_ = std::make_unique<RequestTime>(
      manual_.loop(), timeouts_, counts_, stream_, static_cast<RequestTimeOwner&>(*this));

 private:
  base::OutBuffer& out() override { return out_; }
  bool has_room() const override { return true; }
  void wrote() override {}
  void body_room_changed() override {}
  void finish(fastcgi::RequestId, std::uint32_t) override {}
  void break_off(fastcgi::RequestId, std::uint32_t) override {}
  void on_begun() override {}
  void on_output_closed() override {}
  void on_bad_head(const std::string&) override {}
  void on_complete() override {}
  void on_too_long(const std::string&) override {}
  void on_answered() override { ++answered_; }
  void on_background_too_long() override {}
};

TEST_F(RequestTimeTest, lets_one_that_sleeps_go_on_in_the_background) {
  time_->output_closed([this] { return sleeper_; });
  EXPECT_TRUE(manual_.advance(Duration(100)));
  EXPECT_EQ(answered_, 1);
  EXPECT_EQ(counts_.now, 1u);
}

// Method: a worker that is done sleeps as well. It says so right before each look, when the events
// of that turn have been told.
TEST_F(RequestTimeTest, hears_that_it_is_done_before_it_is_taken_for_one_that_goes_on) {
  base::FdPair pipe = base::make_pipe().take();
  loop::FdWatch done(manual_.loop(), pipe.first.get(), [&](unsigned) {
    done.ask(loop::kNothing);
    time_.reset();
  });
  done.ask(loop::kReadable);
  time_->output_closed([&, looks = 0]() mutable {
    if (++looks == 3) {
      EXPECT_EQ(::write(pipe.second.get(), "x", 1), 1);
    }
    return sleeper_;
  });
  EXPECT_TRUE(manual_.advance(Duration(100)));
  EXPECT_EQ(time_, nullptr);
  EXPECT_EQ(answered_, 0);
}

}  // namespace
}  // namespace gateway
