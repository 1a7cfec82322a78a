#include "gateway/response_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "fastcgi/record_reader.h"
#include "loop/timer.h"

namespace gateway {
namespace {

using namespace std::string_literals;

class ResponseStreamTest : public testing::Test, public Answer, public ResponseEvents {
 protected:
  ResponseStreamTest() : program_out_(connect_pipes()) {}

  // The program prints this text.
  void print(const std::string& text) { write_all(program_out_, text); }
  void complain(const std::string& text) { write_all(program_err_, text); }

  // It has ended, and nobody else has its pipes.
  void end_program() {
    program_out_.reset();
    program_err_.reset();
    stream_.program_ended();
  }

  // The records so far as "out:...|err:...|"; takes them all.
  std::string taken() {
    std::string text;
    fastcgi::RecordReader reader;
    reader.feed(out_.bytes());
    fastcgi::Fragment fragment;
    while (reader.next(fragment) == fastcgi::Step::fragment) {
      text += fragment.header.type == fastcgi::RecordType::std_out ? "out:" : "err:";
      text += std::string(fragment.content) + "|";
    }
    out_.consume(out_.size());
    return text;
  }

  void run_for(base::Duration time) {
    loop::Timer end(loop_, [this] { loop_.stop(); });
    end.start(time);
    loop_.run();
  }

  // Runs until this many bytes of records are there, however busy the machine is.
  void run_until(std::size_t bytes) {
    for (int i = 0; i < 5000 && out_.size() < bytes; ++i) run_for(base::Duration(1));
  }

  loop::Loop loop_;
  base::OutBuffer out_;
  bool room_ = true;
  int begun_ = 0, closed_ = 0, complete_ = 0;
  std::string bad_head_;
  ResponseStream stream_{
      loop_, *this, *this, {.head_bytes_max = base::kKiB}, [] { return "test"; }};
  base::UniqueFd program_err_;
  base::UniqueFd program_out_;

  base::UniqueFd connect_pipes() {
    auto out = base::make_pipe(base::NonblockingEnd::reading).take();
    auto err = base::make_pipe(base::NonblockingEnd::reading).take();
    stream_.connect({std::move(out.first), std::move(err.first)});
    program_err_ = std::move(err.second);
    return std::move(out.second);
  }

 private:
  // Answer
  base::OutBuffer& out() override { return out_; }
  bool has_room() const override { return room_; }
  void wrote() override {}
  void body_room_changed() override {}
  void finish(fastcgi::RequestId, std::uint32_t) override {}
  void break_off(fastcgi::RequestId, std::uint32_t) override {}

  // ResponseEvents
  void on_begun() override { ++begun_; }
  void on_output_closed() override { ++closed_; }
  void on_bad_head(const std::string& reason) override { bad_head_ = reason; }
  void on_complete() override { ++complete_; }

  static void write_all(const base::UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
};

TEST_F(ResponseStreamTest, makes_one_record_of_an_answer_that_is_there_at_the_end) {
  print("A: b\n\nbody");
  end_program();
  EXPECT_EQ(taken(), "out:A: b\n\nbody|");
  EXPECT_EQ(complete_, 1);
  EXPECT_EQ(begun_, 1);
}

TEST_F(ResponseStreamTest, leaves_a_body_apart_from_a_head_that_was_changed) {
  print("A: b\nno field\n\nbody");
  stream_.program_ended();
  EXPECT_EQ(taken(), "out:A: b\n\n|out:body|");
}

TEST_F(ResponseStreamTest, reads_both_pipes_to_their_ends) {
  const std::string long_text(60000, 'x');
  complain("oh");
  print("A: b\n\n" + long_text);
  end_program();
  EXPECT_EQ(taken(), "out:A: b\n\n" + long_text + "|err:oh|");
  EXPECT_EQ(stream_.last_error_line(), "oh");
}

// With O_DIRECT a pipe keeps writes apart: a read that returns less than it could need not be the
// last.
TEST_F(ResponseStreamTest, reads_output_in_packets_to_its_end) {
  ASSERT_EQ(::fcntl(program_out_.get(), F_SETFL, O_DIRECT), 0);
  print("A: b\n\n");
  print("one");
  print("two");
  stream_.program_ended();
  EXPECT_EQ(taken(), "out:A: b\n\n|out:one|out:two|");
}

TEST_F(ResponseStreamTest, waits_only_a_moment_for_others_that_hold_the_pipes) {
  stream_.program_ended();
  EXPECT_EQ(bad_head_, "");
  run_for(LateOutput::kQuiet + base::Duration(5));
  EXPECT_NE(bad_head_, "");
  EXPECT_EQ(begun_, 0);
  EXPECT_EQ(complete_, 0);
}

TEST_F(ResponseStreamTest, takes_what_a_filter_writes_after_its_program) {
  print("A: b\n\n");
  stream_.program_ended();
  EXPECT_EQ(complete_, 0);
  print("late");
  run_until(1 + out_.size());
  EXPECT_EQ(complete_, 0);
  program_out_.reset();
  program_err_.reset();
  for (int i = 0; i < 5000 && complete_ == 0; ++i) run_for(base::Duration(1));
  EXPECT_EQ(taken(), "out:A: b\n\n|out:late|");
  EXPECT_EQ(complete_, 1);
}

TEST_F(ResponseStreamTest, waits_for_nobody_if_the_answer_is_whole) {
  print("Content-Length: 2\n\nab");
  stream_.program_ended();
  EXPECT_EQ(complete_, 1);
}

TEST_F(ResponseStreamTest, passes_output_on_while_the_program_runs) {
  print("A: b\n\nfirst");
  run_until(1);
  EXPECT_EQ(taken(), "out:A: b\n\nfirst|");
  complain("oh");
  print("second");
  run_until(2 * fastcgi::kHeaderSize + "ohsecond"s.size());
  const std::string both = taken();
  EXPECT_TRUE(both == "out:second|err:oh|" || both == "err:oh|out:second|") << both;
  EXPECT_EQ(begun_, 1);
  EXPECT_EQ(complete_, 0);
}

TEST_F(ResponseStreamTest, is_whole_when_nobody_writes_output_any_more) {
  print("A: b\n\nbody");
  run_until(1);
  EXPECT_FALSE(stream_.answer_is_whole());
  program_out_.reset();
  for (int i = 0; i < 5000 && closed_ == 0; ++i) run_for(base::Duration(1));
  EXPECT_EQ(closed_, 1);
  EXPECT_TRUE(stream_.answer_is_whole());
  complain("still there");
  stream_.program_ended();
  EXPECT_EQ(taken(), "out:A: b\n\nbody|err:still there|");
  EXPECT_EQ(complete_, 1);
}

TEST_F(ResponseStreamTest, tells_nothing_of_output_that_ends_with_its_program) {
  print("A: b\n\nbody");
  program_out_.reset();
  stream_.program_ended();
  EXPECT_EQ(closed_, 0);
  EXPECT_EQ(complete_, 1);
}

TEST_F(ResponseStreamTest, gives_kept_pipes_back_when_all_is_read) {
  print("A: b\n\nbody");
  complain("oh");
  const base::FdPair kept = stream_.program_ended(ResponseStream::Pipes::kept);
  EXPECT_EQ(taken(), "out:A: b\n\nbody|err:oh|");
  EXPECT_EQ(complete_, 1);
  ASSERT_TRUE(kept.first && kept.second);
  // Their other ends still are the program's.
  print("next");
  std::array<char, 5> bytes{};
  EXPECT_EQ(::read(kept.first.get(), bytes.data(), bytes.size()), 4);
  complain("word");
  EXPECT_EQ(::read(kept.second.get(), bytes.data(), bytes.size()), 4);
}

TEST_F(ResponseStreamTest, gives_kept_pipes_back_after_it_has_watched_them) {
  print("A: b\n\nbody");
  run_until(1);
  EXPECT_TRUE(stream_.program_ended(ResponseStream::Pipes::kept).first);
}

TEST_F(ResponseStreamTest, gives_no_pipe_back_that_was_closed) {
  print("A: b\n\nbody");
  program_err_.reset();
  EXPECT_FALSE(stream_.program_ended(ResponseStream::Pipes::kept).first);
  EXPECT_EQ(taken(), "out:A: b\n\nbody|");
  EXPECT_EQ(complete_, 1);
}

TEST_F(ResponseStreamTest, gives_no_pipe_back_that_is_not_read_yet) {
  room_ = false;
  print("A: b\n\nbody");
  EXPECT_FALSE(stream_.program_ended(ResponseStream::Pipes::kept).first);
  room_ = true;
  stream_.resume();
  EXPECT_EQ(taken(), "out:A: b\n\nbody|");
  EXPECT_EQ(complete_, 1);
}

TEST_F(ResponseStreamTest, goes_on_with_other_pipes_if_the_first_worker_never_began) {
  run_for(ResponseStream::kUnseen + base::Duration(5));
  program_out_.reset();
  program_err_.reset();
  for (int i = 0; i < 5000 && closed_ == 0; ++i) run_for(base::Duration(1));
  program_out_ = connect_pipes();
  EXPECT_FALSE(stream_.answer_is_whole());
  print("A: b\n\nbody");
  end_program();
  EXPECT_EQ(taken(), "out:A: b\n\nbody|");
  EXPECT_EQ(complete_, 1);
}

TEST_F(ResponseStreamTest, stops_at_a_full_connection_and_goes_on_later) {
  room_ = false;
  print("A: b\n\nbody");
  run_for(ResponseStream::kUnseen + base::Duration(5));
  end_program();
  EXPECT_EQ(taken(), "");
  EXPECT_EQ(complete_, 0);
  room_ = true;
  stream_.resume();
  EXPECT_EQ(taken(), "out:A: b\n\nbody|");
  EXPECT_EQ(complete_, 1);
}

}  // namespace
}  // namespace gateway
