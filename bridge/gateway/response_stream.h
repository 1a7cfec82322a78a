// A program's standard output and standard error on their way to the web server.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/out_buffer.h"
#include "base/unique_fd.h"
#include "cgi/response_head.h"
#include "gateway/body_measure.h"
#include "gateway/exchange.h"
#include "gateway/late_output.h"
#include "gateway/output_pipes.h"
#include "gateway/response_events.h"
#include "loop/timer.h"
#include "shadow/answer_copy.h"
#include "worker/log_pipe.h"

namespace gateway {

// What the web server wants of the body (RFC 3875 §4.3.3: HEAD wants none).
enum class BodyWanted { no, yes };

// Whether output waits until the request's body is complete. nginx stops sending a body as soon as
// it has passed an answer's head on to the client; but git, for one, prints its head first.
enum class HoldBack { no, yes };

// Reads both pipes at once, turns what comes into records, and stops reading while the connection
// has no room. The body is read into place after its record header, without a copy. Most programs
// are done before anybody could have seen their first byte: so for the first kUnseen the pipes are
// not even watched, and the whole answer takes one read and one wakeup, of us and of the web
// server. After that, output is passed on as it is written.
class ResponseStream {
 public:
  // id: in its records. head_bytes_max: a longer head is a bad one. copy: gets the head and the
  // body as they pass to the client; it outlives this object. None: nobody compares them.
  struct Wishes {
    fastcgi::RequestId id = 1;
    BodyWanted body_wanted = BodyWanted::yes;
    HoldBack hold_back = HoldBack::no;
    std::size_t head_bytes_max = 64 * base::kKiB;
    shadow::AnswerCopy* copy = nullptr;
    bool errors_to_server = true;  // standard error goes to the web server besides the log
  };

  // How much of an answer is held back at most: if a program answers more before it has read its
  // whole body, its answer is forwarded at once.
  static constexpr std::size_t kHeldMax = 256 * base::kKiB;

  // How long a program may run before its output is watched.
  static constexpr base::Duration kUnseen{2};

  // The references outlive it; label names the request in the log.
  ResponseStream(loop::Loop& loop, Answer& answer, ResponseEvents& events, const Wishes& wishes,
                 worker::Label label);

  // The program's ends are ready. The arguments, our ends, must not block. Called again, with
  // others, if the worker that had got the first ones was gone before it began.
  void connect(base::FdPair ours);

  // The same without pipes, for a program that speaks FastCGI: its output and its standard error,
  // as they arrive.
  void take_output(base::ByteView bytes);
  void take_errors(base::ByteView bytes);
  // How much of its standard error is passed on and logged; the rest is read and dropped, and a
  // line says how much that was. 0: no limit.
  void limit_errors(std::uint64_t bytes_max) { errors_ = worker::ErrorAllowance(bytes_max); }
  // Adds a line to the head, before the first output; the program's own of that name are removed.
  void add_field(const std::string& line, std::string_view setting) {
    added_fields_ += line;
    head_.reserve_name(line.substr(0, line.find(':')), setting);
  }
  void set_server_redirects(bool does) { head_.set_server_redirects(does); }

  // The program ended: what is in the pipes now is the rest, and what others that have its standard
  // output still write within a moment (LateOutput). kept: its worker has it, for another request.
  // Returns the reading ends of kept pipes, if all has been read; otherwise none, and they are
  // closed later.
  enum class Pipes { closed, kept };
  base::FdPair program_ended(Pipes pipes = Pipes::closed);

  // The request's body is complete, or its client pauses: nothing is held back any more.
  void let_go();
  void resume();  // the connection has room again

  // Whether out has the whole answer, whatever the program still does: a body as long as its
  // Content-Length, the head of an answer without a body, or all output, if nobody writes any more.
  bool answer_is_whole() const;
  bool head_read() const { return head_sent_; }
  // From now on records go to answer.
  void move_to(Answer& answer) { answer_ = &answer; }
  // Hands over the pipes' reading ends; this object then reads nothing any more.
  base::FdPair release();
  // Whether the client was given a head; a head that is held back can still be replaced.
  bool head_given() const { return head_sent_ && held_.empty(); }
  std::uint64_t bytes_read() const { return bytes_read_; }
  // Since when it has been silent for its own reasons: not while the client takes nothing.
  base::TimePoint silent_since() const { return answer_->has_room() ? last_output_ : loop_.now(); }
  // The status that the client was given; 0: no head yet.
  int status() const { return head_given() ? head_.head().status : 0; }
  const std::string& last_error_line() const { return error_lines_.last_line(); }

 private:
  // The result of one read of a pipe: it may go on, or its end was read.
  enum class ReadStep { open, over };

  void on_timer();
  base::FdPair drain(Pipes pipes);
  void pump_stdout();
  void pump_stderr();
  base::OutBuffer& output() { return held_back_ == HoldBack::yes ? held_ : answer_->out(); }
  void begin();
  void wrote();
  void note_read(std::uint64_t bytes);
  ReadStep read_head();
  ReadStep read_body();
  ReadStep read_errors();
  void tell_dropped_errors();
  void feed_head(base::ByteView bytes);
  void take_head();
  void end_stderr();
  void end_pipes();
  void complete();
  void set_asked();

  loop::Loop& loop_;
  const Wishes wishes_;
  Answer* answer_;
  ResponseEvents& events_;
  cgi::ResponseHeadReader head_;
  std::string added_fields_;
  const worker::Label label_;
  worker::LineLog error_lines_;
  worker::ErrorAllowance errors_;
  OutputPipes pipes_;
  loop::Timer timer_;  // until its output is watched; after its end, for late output
  HoldBack held_back_;
  base::OutBuffer held_;
  std::uint64_t bytes_read_ = 0;
  BodyMeasure body_;
  base::TimePoint last_output_ = loop_.now();  // its creation, before the first
  bool begun_ = false, head_sent_ = false;
  bool head_bad_ = false;           // what follows is read and dropped
  bool closed_ = false;             // the end of its standard output was read
  std::optional<LateOutput> late_;  // once the program has ended
  bool over_ = false;               // on_bad_head or on_complete was called
};

}  // namespace gateway
