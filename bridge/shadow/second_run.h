// A request's second run, whose answer nobody waits for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "compare/answer.h"
#include "compare/figures.h"
#include "config/settings.h"
#include "loop/fd_watch.h"
#include "loop/timer.h"
#include "pool/pool.h"
#include "pool/run.h"
#include "shadow/answer_copy.h"
#include "worker/body_pipe.h"
#include "worker/program_streams.h"

namespace shadow {

// A client's request that classic has answered, with what the other side needs to answer it too.
struct Task {
  std::string program;
  std::uint64_t version = 0;  // of the program's file (compare::Comparison)
  std::uint64_t era = 0;      // of its promotion
  std::shared_ptr<const config::Settings> keep_alive;
  const config::ProgramSettings* settings = nullptr;  // of keep_alive
  std::string environment;
  std::uint32_t environment_count = 0;
  std::vector<std::string> query_words;
  std::string body;
  bool has_body = false;
  std::string method, uri;
  compare::Answer classic;
};

// Runs a task's program on one side and collects what it answers. Its standard error is read and
// dropped: the client's run has logged it. Destroying it ends the program.
class SecondRun : public pool::RunClient {
 public:
  struct Outcome {
    bool has_run = false;  // otherwise the side was not available
    compare::Observation
        observation{};  // arm, times, memory and bytes; failure and status are not set yet
    compare::Answer answer{};
  };
  // Runs on the loop, once; may not destroy the SecondRun.
  using OnOver = std::function<void(Outcome)>;

  // task is borrowed and outlives it.
  SecondRun(loop::Loop& loop, pool::Pool& pool, const Task& task, compare::Side side,
            OnOver on_over);

 private:
  // pool::RunClient
  base::Result<std::array<int, 3>> descriptors() override;
  base::Result<base::UniqueFd> body() override { return streams_.body(); }
  bool has_room() const override { return true; }
  void on_output(base::ByteView bytes) override;
  void on_errors(base::ByteView) override {}
  void on_started(compare::Arm arm) override;
  worker::Printed on_ended(const worker::Ending& ending) override;
  void on_refused(const cgi::Refusal& refusal) override;

  enum class Read { some, nothing_now, end };
  void watch_output();
  void on_output_closed();
  Read read_output();
  Read read_errors();
  void take(base::ByteView bytes);
  void over(const worker::Ending& ending);

  loop::Loop& loop_;
  const Task& task_;
  OnOver on_over_;
  Outcome outcome_;
  AnswerCopy copy_;
  cgi::ResponseHeadReader head_;
  bool head_is_over_ = false;
  const base::TimePoint since_;
  worker::ProgramStreams streams_;
  base::FdPair outputs_;  // standard output and standard error
  std::unique_ptr<worker::BodyPipe> body_;
  std::unique_ptr<loop::FdWatch> out_watch_, err_watch_;
  loop::Timer time_is_up_;
  std::unique_ptr<pool::Run> run_;
};

}  // namespace shadow
