// The life of one request: from its params to its END_REQUEST.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fastcgi/name_value.h"
#include "gateway/page_visit.h"
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

// Where a request's answer goes: its connection, as far as the request knows it.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual base::OutBuffer& out() = 0;
  virtual bool has_room() const = 0;
  virtual void wrote() = 0;
  // A body piece found (no) room: reading of the connection may (not) go on.
  virtual void body_room_changed() = 0;
  // END_REQUEST with this exit code. A request whose program goes on is the gateway's then, any
  // other is destroyed at the end of the turn.
  virtual void finish(fastcgi::RequestId id, std::uint32_t app_status) = 0;
  // The answer cannot be completed and must not look complete.
  virtual void break_off(fastcgi::RequestId id, std::uint32_t app_status) = 0;
};

// Owned by its connection. Destroying it while its program runs leaves that to its end (Remains).
class Request : public pool::RunClient {
 public:
  Request(Gateway& gateway, Answer& answer, fastcgi::RequestId id);
  ~Request() override;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Chapter one: which program, with which environment. Ends in a Run, or in an error response.
  void start(const fastcgi::Params& params);

  // The body, as it comes.
  void body_bytes(base::ByteView piece);
  void body_end();
  bool body_full() const { return body_.full(); }
  bool body_complete() const { return body_.complete(); }

  // The connection has room again.
  void resume();

  // Answers without a program; an answer whose head the client was given already is broken off.
  // reason_public is shown to the client, reason to the log. failure: for the program's figures.
  void fail(int status, const std::string& reason_public, const std::string& reason,
            compare::Failure failure = compare::Failure::none);

  // Whether its client has no reason to wait any longer, though the program may still do something.
  bool answer_is_whole() const;

  // Goes on without its client: what it still answers goes there.
  void move_to(Answer& answer);

  // Nobody waits for it any more: it answers nothing from here on.
  void cancel() { phase_ = Phase::finished; }

 private:
  // arriving: its body may still come first, or it waits for its program. running: the program was
  // given it. finished: the client was told its end, or is gone; what the program still does
  // reaches nobody.
  enum class Phase { arriving, running, finished };

  // Whether it has run for slowlog.after, and what its program is doing then.
  struct SlowWatch {
    std::unique_ptr<loop::Timer> timer;
    std::unique_ptr<journal::StackQueue::Turn> turn;  // if it has to wait
  };

  // pool::RunClient
  base::Result<std::array<int, 3>> descriptors() override;
  base::Result<base::UniqueFd> body() override { return streams_.body(); }
  bool has_room() const override { return answer_->has_room(); }
  void on_output(base::ByteView bytes) override;
  void on_errors(base::ByteView bytes) override;
  void on_started(compare::Arm arm) override;
  worker::Printed on_ended(const worker::Ending& ending) override;
  void on_refused(const cgi::Refusal& refusal) override;

  bool finished() const { return phase_ == Phase::finished; }
  std::optional<cgi::Refusal> route(const cgi::Variables& variables);
  void open_response(BodyWanted body_wanted);
  void run();
  void connect_response();
  void add_fields(compare::Arm arm);
  void begin_time();
  void begin_slow_watch();
  void on_output_closed();
  void on_answered();
  void on_bad_head(const std::string& reason);
  void visit_page();
  void complete();
  void finish();
  void break_off(std::uint32_t app_status);
  void close_record();
  std::string label() const;  // what the log calls it

  Gateway& gateway_;
  Answer* answer_;
  const fastcgi::RequestId id_;
  Phase phase_ = Phase::arriving;
  bool moved_ = false;  // its client has left with the whole answer
  Target target_;
  RequestRecord record_;
  std::unique_ptr<PageVisit> visit_;  // if no program is meant, but the bridge's page
  RequestBody body_;
  worker::ProgramStreams streams_;
  std::unique_ptr<ResponseStream> response_;  // once it is known which program
  std::unique_ptr<RequestTime> time_;         // while the program runs
  SlowWatch slow_;                            // while the program runs
  std::unique_ptr<pool::Run> run_;
};

}  // namespace gateway
