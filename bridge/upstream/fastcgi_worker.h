// A worker that speaks FastCGI: a program written or adapted to answer one request after another in
// one process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "fastcgi/client_connection.h"
#include "limits/cgroup.h"
#include "limits/terms.h"
#include "loop/fd_watch.h"
#include "loop/timer.h"
#include "upstream/answer_sink.h"
#include "upstream/listening_socket.h"
#include "upstream/process_marks.h"
#include "upstream/quiet_reader.h"
#include "worker/log_pipe.h"
#include "worker/worker.h"

namespace upstream {

// What execve() gets, borrowed for the call; and how soon the program must accept.
struct StartSpec {
  const std::string& file;
  const std::vector<std::string>& argv;
  base::ByteView environment;
  std::uint32_t environment_count;
  const std::string& cwd;
  base::Duration timeout;
  const limits::Terms& terms;
  std::uint64_t stderr_max = 0;      // how much is logged per minute; 0: no limit
  limits::Cgroup* cgroup = nullptr;  // which it enters
};

// Its process listens on its own socket, descriptor 0; the bridge is its only client, over one
// connection that is kept open as long as the program keeps it. It is ready when it has answered
// FCGI_GET_VALUES, or has accepted that connection and closed it. Its standard error goes to the
// log, its standard output nowhere.
//
// The program is responsible for what a request leaves in the process, except for what can be seen
// from outside: a process whose priority or process group (setpgid, setsid) has changed is
// replaced.
//
// A request that its client gives up is aborted (FCGI_ABORT_REQUEST); if the program has not ended
// it kill_grace later, it gets SIGTERM, and after the same time again SIGKILL.
class FastcgiWorker : public worker::Worker {
 public:
  FastcgiWorker(loop::Loop& loop, worker::Processes& processes, std::uint64_t id,
                const std::string& label, base::Duration kill_grace, worker::WorkerOwner& owner);

  // Starts its process, once. The worker is then in the state starting.
  base::Status start(const StartSpec& spec);

  // Gives a request to an idle worker: idle → busy. environment is borrowed for the call. body: the
  // reading end of a pipe, or a file, taken over if this succeeds; none: there is no body. sink
  // must live until on_ended() or forget_request() was called. On failure nothing of the request
  // was read, and the worker is no longer usable.
  base::Status assign(base::ByteView environment, base::UniqueFd& body, AnswerSink& sink);

  void terminate() override;
  void forget_request() override;
  void retire() override;
  void resume() override;
  bool lost() const override { return !was_ready_; }

 private:
  void on_death(const worker::Death& death) override;
  worker::Ending ending_of(const worker::Death& death) const override;

  bool open_connection();
  void close_connection();
  void on_event(unsigned readiness);
  bool read();
  void read_rest();
  void take(base::ByteView bytes);
  void handle(const fastcgi::ClientEvent& event);
  enum class Over { closed, reset };
  void on_connection_over(Over how);
  bool send_again();
  void begin_serving();
  void on_request_over(const fastcgi::ClientEvent& event);
  void refuse_request();
  void fault(const std::string& why);

  enum class Sent { all, some, nothing_more };  // nothing_more: the program will take no more
  Sent write_out();
  void send();
  void take_body(base::UniqueFd& body);
  void read_body();
  void drop_body();
  void set_asked();
  std::chrono::microseconds cpu_since_last();

  loop::Loop& loop_;
  std::optional<ListeningSocket> socket_;
  std::unique_ptr<worker::LogPipe> errors_;
  base::Duration start_timeout_{};
  loop::Timer start_timer_, settle_timer_, patience_;
  bool was_ready_ = false;
  std::string end_reason_;  // why the bridge ends it during a request
  std::chrono::nanoseconds cpu_{};
  ProcessMarks marks_;  // when it was ready

  // Whether it keeps a connection open after a request. Known once it has served one.
  bool keeps_ = true;
  bool knows_keeps_ = false;

  base::UniqueFd fd_;
  std::unique_ptr<loop::FdWatch> watch_;
  QuietReader reader_;
  bool is_long_ = false;  // its answer is too long to be read quietly
  fastcgi::ClientConnection codec_;
  std::uint64_t connections_ = 0;  // changes with each connection
  std::string out_;                // on its way to the program
  bool deaf_ = false;              // it reads nothing more from this connection
  bool is_used_ = false;           // a request was answered on it

  AnswerSink* sink_ = nullptr;  // of its request
  bool aborting_ = false;
  bool read_at_once_ = false;  // its request is certainly read in one piece
  // Its environment, kept while nothing has been answered on a connection that may have been closed
  // before the request came, if the request would be read at once.
  std::string unread_;
  base::UniqueFd body_;
  bool body_is_file_ = false;
  std::unique_ptr<loop::FdWatch> body_watch_;
};

}  // namespace upstream
