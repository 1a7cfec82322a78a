// What is noted about a request: for its program's figures, for the journal, and for the comparison
// of the two sides.
#pragma once

#include <memory>

#include "base/clock.h"
#include "cgi/response_head.h"
#include "compare/comparison.h"
#include "gateway/target.h"
#include "journal/entry.h"
#include "router/resolver.h"
#include "shadow/answer_copy.h"
#include "shadow/second_run.h"

namespace gateway {

class Gateway;
class ResponseStream;

// Owned by the request.
class RequestRecord {
 public:
  explicit RequestRecord(Gateway& gateway);
  RequestRecord(const RequestRecord&) = delete;
  RequestRecord& operator=(const RequestRecord&) = delete;

  // ---- while it runs ----

  void set_name(const cgi::Variables& variables);
  const journal::RequestName& name() const { return name_; }
  // The response header that carries the request's id, as request_id_header says; "" if that is
  // empty.
  std::string id_field(const config::ProgramSettings& settings) const;
  // The one that arm_header names: the arm, or that its program never began.
  std::string arm_field(const config::ProgramSettings& settings) const;
  // Begins an entry for the journal, if the journal needs one.
  void begin_entry(const cgi::Variables& variables);
  // The arm that it counts for until it begins.
  void set_intended_arm(compare::Arm arm) { seen_.arm = arm; }
  // Classic answers it, and the other side is to answer it afterwards.
  void set_shadow(std::unique_ptr<shadow::Task> task, std::size_t answer_max);
  void add_body(base::ByteView piece, std::uint64_t length_announced);
  // nullptr: nobody wants the answer.
  shadow::AnswerCopy* answer_copy() { return copy_.get(); }
  void set_started(compare::Arm arm, pid_t pid);
  // What had started was gone before the program began, and nothing else could take the request.
  void set_never_began() { began_ = false; }
  compare::Arm arm() const { return seen_.arm; }
  // Its answer is complete, but its program goes on.
  void set_answered() { answered_at_ = now(); }
  // Its program was ended because it went on too long after that.
  void set_ended_in_background() { ended_in_background_ = true; }
  void set_program_ended(const worker::Ending& ending);
  const worker::Ending& ending() const { return ending_; }
  // The bridge answers instead of the program. reason: as in the log.
  void set_failed(compare::Failure failure, const std::string& reason);
  // Its client has left.
  void set_gone() { seen_.failure = compare::Failure::gone; }
  void set_status(int status) { seen_.status = status; }

  // ---- at its end ----

  // How it ended is known. What comes after the first call is not noted. response: nullptr if none
  // was begun; queue: how long it waited for its program.
  void close(const Target& target, const ResponseStream* response, std::uint64_t body_received,
             std::chrono::microseconds queue);
  bool closed() const { return closed_; }
  // The request is destroyed, and its program has ended.
  void end_entry(const config::ProgramSettings* settings);
  // The same, but its program has not ended yet: the caller ends the entry, if there is one.
  std::unique_ptr<journal::Entry> release_entry() { return std::move(entry_); }

 private:
  base::TimePoint now() const;
  bool answered() const;
  void judge(const ResponseStream& response);
  void note_in_journal(const Target& target, const ResponseStream* response);
  void give_to_shadow(const Target& target);

  Gateway& gateway_;
  const base::TimePoint since_;
  journal::RequestName name_;
  compare::Observation seen_;
  worker::Ending ending_;
  std::unique_ptr<journal::Entry> entry_;     // if the journal needs one
  std::unique_ptr<shadow::Task> shadow_;      // for the other side, once this is answered
  std::unique_ptr<shadow::AnswerCopy> copy_;  // copy of the answer, for that side
  base::TimePoint answered_at_{};             // before its program's end; otherwise unset
  bool began_ = false;                        // its program; also for the answer's arm
  bool started_ = false, ended_in_background_ = false, closed_ = false;
};

// Decides which side answers the request, and whether the other one is to answer it too. identity:
// of the program's file.
void take_side(compare::Comparisons& comparisons, const cgi::Variables& variables,
               const router::FileIdentity& identity, Target& target, RequestRecord& record);

}  // namespace gateway
