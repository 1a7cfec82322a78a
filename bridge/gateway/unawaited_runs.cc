#include "gateway/unawaited_runs.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/assert.h"

namespace gateway {

UnawaitedRun::UnawaitedRun(loop::Loop& loop, std::unique_ptr<pool::Run> run,
                           base::UniqueFd stdout_end, base::UniqueFd stderr_end,
                           const std::string& label, std::uint64_t stderr_max,
                           std::unique_ptr<journal::LateEntry> entry, std::function<void()> on_over)
    : on_over_(std::move(on_over)),
      error_lines_(loop, label, stderr_max),
      stdout_(std::move(stdout_end)),
      entry_(std::move(entry)),
      run_(std::move(run)) {
  if (stdout_) {
    stdout_watch_ =
        std::make_unique<loop::FdWatch>(loop, stdout_.get(), [this](unsigned) { discard(); });
    stdout_watch_->ask(loop::kReadable);
  }
  if (stderr_end) {
    stderr_ = std::make_unique<worker::LogPipe>(loop, std::move(stderr_end), label, stderr_max);
  }
  run_->hand_over(*this);
  run_->terminate();
}

void UnawaitedRun::discard() {
  std::array<char, 65536> bytes;
  const ssize_t got = ::read(stdout_.get(), bytes.data(), bytes.size());
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
  stdout_watch_->ask(loop::kNothing);
}

worker::Printed UnawaitedRun::on_ended(const worker::Ending& ending) {
  if (entry_ != nullptr) entry_->program_ended(ending);
  over_ = true;
  if (stderr_ != nullptr) stderr_->drain();
  on_over_();
  return {};  // nobody checked
}

// A worker that had been given the request may be gone before it began: then it must not begin at
// all.
base::Result<std::array<int, 3>> UnawaitedRun::descriptors() {
  return base::Error{"nobody waits for it any more"};
}
base::Result<base::UniqueFd> UnawaitedRun::body() {
  return base::Error{"nobody waits for it any more"};
}
void UnawaitedRun::on_refused(const cgi::Refusal&) {
  over_ = true;
  on_over_();
}
// A run that is handed over has already started.
void UnawaitedRun::on_started(compare::Arm) {
  BRIDGE_ASSERT(false);
}

// ---- Epilogue ----

Epilogue::Epilogue(std::unique_ptr<Exchange> request, std::function<void()> on_over)
    : on_over_(std::move(on_over)), request_(std::move(request)) {
  request_->move_to(*this);
  request_->resume();  // it may have stopped because of a slow client
}

void Epilogue::finish(fastcgi::RequestId, std::uint32_t) {
  over_ = true;
  on_over_();
}

void Epilogue::break_off(fastcgi::RequestId id, std::uint32_t app_status) {
  finish(id, app_status);
}

}  // namespace gateway
