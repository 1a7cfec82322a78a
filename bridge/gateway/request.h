// The life of one request: from its params to its END_REQUEST.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gateway/exchange.h"
#include "gateway/request_body.h"
#include "gateway/request_record.h"
#include "gateway/request_time.h"
#include "gateway/response_stream.h"
#include "gateway/target.h"
#include "journal/stack_queue.h"
#include "pool/run.h"
#include "worker/program_streams.h"

namespace gateway {

class Gateway;

// Owned by its connection. If it is destroyed while its program runs, UnawaitedRun takes care of
// the program's end.
class Request : public Exchange,
                public pool::RunClient,
                public ResponseEvents,
                private RequestTimeOwner {
 public:
  Request(Gateway& gateway, Answer& answer, fastcgi::RequestId id);
  ~Request() override;

  // Chapter one: which program, with which environment. Leads to a Run, or to an error response.
  // settings: those of now. variables: its params. bound: the path of the only program that may
  // answer; empty: the params name it. Neither of the two need outlive the call.
  void start(std::shared_ptr<const config::Settings> settings, const cgi::Variables& variables,
             const std::string& bound);

  // Answers without a program; if the client already got the head of an answer, that answer is
  // broken off. reason_public is shown to the client, reason goes to the log. failure: for the
  // program's figures.
  void fail(int status, const std::string& reason_public, const std::string& reason,
            compare::Failure failure = compare::Failure::none);

  // Exchange
  void body_bytes(base::ByteView piece) override;
  void body_end() override;
  bool body_full() const override { return body_.full(); }
  bool body_complete() const override { return body_.complete(); }
  void resume() override;
  bool answer_is_whole() const override;
  void move_to(Answer& answer) override;
  void cancel() override { phase_ = Phase::finished; }

 private:
  // arriving: its body may still be arriving, or it waits for its program. running: the program has
  // got it. finished: the client was told that it ended, or is gone; what the program still does
  // reaches nobody.
  enum class Phase { arriving, running, finished };

  // Whether it has run for slowlog.after, and what its program is then doing.
  struct SlowWatch {
    void begin(Request& request);  // when its program starts

    std::unique_ptr<loop::Timer> timer;
    std::unique_ptr<journal::StackQueue::Turn> turn;  // if it has to wait
  };

  // pool::RunClient
  base::Result<std::array<int, 3>> descriptors() override;
  bool reuse_streams(base::FdPair& outputs) override;
  base::Result<base::UniqueFd> body() override { return streams_.body(); }
  bool has_room() const override { return answer_->has_room(); }
  void on_output(base::ByteView bytes) override;
  void on_errors(base::ByteView bytes) override;
  void on_started(compare::Arm arm) override;
  worker::Printed on_ended(const worker::Ending& ending) override;
  void on_refused(const cgi::Refusal& refusal) override;

  // ResponseEvents
  void on_begun() override { streams_.close_program_ends(); }
  void on_output_closed() override;
  void on_bad_head(const std::string& reason) override;
  void on_complete() override;

  // RequestTimeOwner
  void on_too_long(const std::string& why) override;
  void on_answered() override;
  void on_background_too_long() override;

  bool finished() const { return phase_ == Phase::finished; }
  std::optional<cgi::Refusal> route(const cgi::Variables& variables, const std::string& bound);
  void open_response(BodyWanted body_wanted);
  void run();
  void connect_response();
  void finish();
  void break_off(std::uint32_t app_status);
  void close_record();
  std::string label() const;  // its name in the log

  Gateway& gateway_;
  Answer* answer_;
  const fastcgi::RequestId id_;
  Phase phase_ = Phase::arriving;
  bool moved_ = false;  // its client has left with the whole answer
  Target target_;
  RequestRecord record_;
  RequestBody body_;
  worker::ProgramStreams streams_;
  std::unique_ptr<ResponseStream> response_;  // once the program is known
  std::unique_ptr<RequestTime> time_;         // while the program runs
  SlowWatch slow_;                            // while the program runs
  std::unique_ptr<pool::Run> run_;
};

}  // namespace gateway
