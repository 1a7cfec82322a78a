// The life of one request: from its params to its END_REQUEST.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cgi/environment.h"
#include "compare/figures.h"
#include "fastcgi/name_value.h"
#include "gateway/body_spool.h"
#include "gateway/page_visit.h"
#include "gateway/request_time.h"
#include "gateway/response_stream.h"
#include "journal/entry.h"
#include "journal/stack_queue.h"
#include "pool/run.h"
#include "shadow/answer_copy.h"
#include "shadow/second_run.h"
#include "worker/body_pipe.h"

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
  bool body_full() const { return body_ != nullptr && body_->full(); }
  bool body_complete() const { return body_complete_; }

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
  void cancel() { finished_ = true; }

 private:
  // pool::RunClient
  base::Result<std::array<int, 3>> descriptors() override;
  base::Result<base::UniqueFd> body() override;
  bool has_room() const override { return answer_->has_room(); }
  void on_output(base::ByteView bytes) override;
  void on_errors(base::ByteView bytes) override;
  void on_started(compare::Arm arm) override;
  worker::Printed on_ended(const worker::Ending& ending) override;
  void on_refused(const cgi::Refusal& refusal) override;

  std::optional<cgi::Refusal> route(const cgi::Variables& variables);
  std::optional<cgi::Refusal> open_body(const cgi::Variables& variables);
  void run();
  base::Status make_body_ends(), make_ends();
  void connect_response();
  void complete();
  void limit_body(std::uint64_t received);
  void end_spool();
  void open_response(BodyWanted body_wanted);
  void on_bad_head(const std::string& reason);
  void begin_time();
  void on_output_closed();
  void on_answered();
  void watch_body();
  void choose_arm(const cgi::Variables& variables, const router::FileIdentity& identity);
  void visit_page();
  void copy_body(base::ByteView piece);
  void observe();
  void note_in_journal();
  void tell_slow_log();
  void give_to_shadow();
  void finish();
  void break_off(std::uint32_t app_status);
  std::string subject() const, label() const, id_field() const;
  void add_fields(compare::Arm arm);

  Gateway& gateway_;
  Answer* answer_;
  const fastcgi::RequestId id_;
  std::shared_ptr<const config::Settings> keep_alive_;  // holds settings_
  const config::ProgramSettings* settings_ = nullptr;
  journal::RequestName name_;
  std::string program_;
  cgi::Environment environment_;
  std::vector<std::string> query_words_;
  bool body_complete_ = false, started_ = false, finished_ = false, observed_ = false;
  bool moved_ = false, ended_in_background_ = false;
  base::TimePoint answered_at_{};  // before its program's end; else unset
  std::uint32_t app_status_ = 0;
  worker::Ending ending_;  // of the program
  const base::TimePoint since_;
  compare::Side side_ = compare::Side::persistent;
  compare::Observation observation_;
  std::unique_ptr<shadow::Task> shadow_;      // for the other side, once this is answered
  std::unique_ptr<shadow::AnswerCopy> copy_;  // of the answer, for it
  std::unique_ptr<PageVisit> visit_;          // if no program is meant, but the bridge's page
  std::unique_ptr<journal::Entry> entry_;     // if the journal wants to know of it

  // The program's ends of the pipes, from descriptors() until it is sure that the program has
  // begun: another worker may have to take them. Held longer, standard input's would hide that the
  // program reads no further.
  struct ProgramEnds {
    base::UniqueFd in, out, err;
  } program_ends_;
  base::UniqueFd body_writing_end_, stdout_end_, stderr_end_;

  std::unique_ptr<worker::BodyPipe> body_;  // a body of a known length
  std::optional<BodySpool> spool_;          // one of a length that its end will tell
  base::UniqueFd spooled_;                  // that one, once it has come whole
  std::unique_ptr<ResponseStream> response_;
  std::unique_ptr<loop::Timer> body_timer_, slow_timer_;
  std::unique_ptr<RequestTime> time_;                      // while the program runs
  std::unique_ptr<journal::StackQueue::Turn> stack_turn_;  // while it runs, if it has to wait
  std::uint64_t body_seen_ = 0;
  std::unique_ptr<pool::Run> run_;
};

}  // namespace gateway
