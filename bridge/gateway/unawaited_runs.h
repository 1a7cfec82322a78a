// Programs that nobody waits for any more, until they have ended.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/out_buffer.h"
#include "base/unique_fd.h"
#include "gateway/exchange.h"
#include "journal/late_entry.h"
#include "loop/fd_watch.h"
#include "pool/run.h"
#include "worker/log_pipe.h"

namespace gateway {

// Ends the program of a request that was given up (the client left, time was up), and keeps reading
// what it writes until it is dead: a program that tidies up at SIGTERM must not be killed by
// SIGPIPE for a last message. Its standard error still goes to the log.
class UnawaitedRun : public pool::RunClient {
 public:
  // run: is running. The pipes' reading ends may be closed already. on_over: the program is dead;
  // it runs on the loop, and must not destroy this object before the end of the turn. stderr_max:
  // limits.error_output. entry: notes how it ended; none: the journal does not need it.
  UnawaitedRun(loop::Loop& loop, std::unique_ptr<pool::Run> run, base::UniqueFd stdout_end,
               base::UniqueFd stderr_end, const std::string& label, std::uint64_t stderr_max,
               std::unique_ptr<journal::LateEntry> entry, std::function<void()> on_over);

  bool over() const { return over_; }

 private:
  // pool::RunClient
  base::Result<std::array<int, 3>> descriptors() override;
  base::Result<base::UniqueFd> body() override;
  bool has_room() const override { return true; }
  void on_output(base::ByteView) override {}
  void on_errors(base::ByteView bytes) override { error_lines_.write(bytes); }
  void on_started(compare::Arm arm) override;
  worker::Printed on_ended(const worker::Ending& ending) override;
  void on_refused(const cgi::Refusal& refusal) override;

  void discard();

  std::function<void()> on_over_;
  bool over_ = false;
  worker::LimitedLog error_lines_;
  base::UniqueFd stdout_;
  std::unique_ptr<loop::FdWatch> stdout_watch_;
  std::unique_ptr<worker::LogPipe> stderr_;
  std::unique_ptr<journal::LateEntry> entry_;
  std::unique_ptr<pool::Run> run_;
};

// A request that was answered completely before its client left: curl, for one, leaves at the last
// byte that Content-Length promised. Its program runs to its end, or to a limit in `timeouts`. What
// it still writes is dropped, except that its standard error goes to the log.
class Epilogue : public Answer {
 public:
  // on_over: as in UnawaitedRun.
  Epilogue(std::unique_ptr<Exchange> request, std::function<void()> on_over);

  bool over() const { return over_; }

 private:
  // Answer
  base::OutBuffer& out() override { return unheard_; }
  bool has_room() const override { return true; }
  void wrote() override { unheard_.consume(unheard_.size()); }
  void body_room_changed() override {}
  void finish(fastcgi::RequestId id, std::uint32_t app_status) override;
  void break_off(fastcgi::RequestId id, std::uint32_t app_status) override;

  base::OutBuffer unheard_;
  std::function<void()> on_over_;
  bool over_ = false;
  std::unique_ptr<Exchange> request_;
};

}  // namespace gateway
