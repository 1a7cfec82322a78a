// A program that nobody waits for any more, until it has ended.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "loop/fd_watch.h"
#include "pool/run.h"
#include "worker/log_pipe.h"

namespace gateway {

// Ends the program of a request that was given up (the client left, time was up), and until it is
// dead keeps reading what it prints: a program that tidies up at SIGTERM must not be killed by
// SIGPIPE for a last word. Its standard error still reaches the log.
class Remains : public pool::RunClient {
 public:
  // run: running. The pipes' reading ends may be closed already. on_over: the program is dead; it
  // runs on the loop, and may not destroy this before the end of the turn.
  Remains(loop::Loop& loop, std::unique_ptr<pool::Run> run, base::UniqueFd stdout_end,
          base::UniqueFd stderr_end, const std::string& label, std::function<void()> on_over);

  bool over() const { return over_; }

 private:
  // pool::RunClient
  base::Result<std::array<int, 3>> descriptors() override;
  base::Result<base::UniqueFd> body() override;
  bool has_room() const override { return true; }
  void on_output(base::ByteView) override {}
  void on_errors(base::ByteView bytes) override { error_lines_.write(bytes); }
  void on_started(compare::Arm arm) override;
  void on_ended(const worker::Ending& ending) override;
  void on_refused(const cgi::Refusal& refusal) override;

  void discard();

  std::function<void()> on_over_;
  bool over_ = false;
  worker::LineLog error_lines_;
  base::UniqueFd stdout_;
  std::unique_ptr<loop::FdWatch> stdout_watch_;
  std::unique_ptr<worker::LogPipe> stderr_;
  std::unique_ptr<pool::Run> run_;
};

}  // namespace gateway
