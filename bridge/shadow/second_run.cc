#include "shadow/second_run.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace shadow {
namespace {

// Used when the program itself has no time limit.
constexpr std::chrono::seconds kTimeMax{30};
// Of 64 KiB each: as much as a pipe can hold.
constexpr unsigned kRestReads = 16;

base::Duration time_for(const config::ProgramSettings& settings) {
  return settings.timeouts.request.count() > 0 ? settings.timeouts.request
                                               : base::Duration(kTimeMax);
}

}  // namespace

SecondRun::SecondRun(loop::Loop& loop, pool::Pool& pool, const Task& task, compare::Side side,
                     OnOver on_over)
    : loop_(loop),
      task_(task),
      on_over_(std::move(on_over)),
      copy_(task.settings->shadow.answer_max),
      head_(task.keep_alive->bridge.response_head_max),
      since_(loop.now()),
      time_is_up_(loop, [this] {
        over({.app_status = 0,
              .description =
                  "not done after " + std::to_string(time_for(*task_.settings).count()) + " ms"});
      }) {
  if (task.has_body) streams_.set_has_body();
  time_is_up_.start(time_for(*task.settings));
  run_ = std::make_unique<pool::Run>(pool,
                                     pool::Job{.query_words = task.query_words,
                                               .environment = task.environment,
                                               .environment_count = task.environment_count,
                                               .side = side,
                                               .for_whom = pool::ForWhom::shadow},
                                     *this);
}

base::Result<std::array<int, 3>> SecondRun::descriptors() {
  auto made = streams_.descriptors();
  // The worker that was to take it by FastCGI did not.
  if (made && outcome_.has_run) watch_output();
  return made;
}

void SecondRun::watch_output() {
  if (!streams_.has_outputs()) return;
  outputs_ = streams_.take_outputs();
  out_watch_ = std::make_unique<loop::FdWatch>(loop_, outputs_.first.get(), [this](unsigned) {
    streams_.close_program_ends();
    if (read_output() == Read::end) on_output_closed();
  });
  err_watch_ = std::make_unique<loop::FdWatch>(loop_, outputs_.second.get(), [this](unsigned) {
    streams_.close_program_ends();
    if (read_errors() == Read::end) err_watch_->ask(loop::kNothing);
  });
  out_watch_->ask(loop::kReadable);
  err_watch_->ask(loop::kReadable);
}

void SecondRun::on_started(compare::Arm arm) {
  outcome_.has_run = true;
  outcome_.observation.arm = arm;
  watch_output();
  if (!task_.has_body) return;
  body_ = std::make_unique<worker::BodyPipe>(loop_, task_.body.size(), [] {});
  body_->write(task_.body);
  body_->end();
  body_->connect(streams_.take_body_end());
}

// What the program still does is not part of its answer, and may take as long as for a client.
void SecondRun::on_output_closed() {
  out_watch_->ask(loop::kNothing);
  const base::Duration background = task_.settings->timeouts.background;
  background.count() > 0 ? time_is_up_.start(background) : time_is_up_.stop();
}

SecondRun::Read SecondRun::read_output() {
  std::array<char, 65536> bytes;
  const ssize_t got = ::read(outputs_.first.get(), bytes.data(), bytes.size());
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Read::nothing_now : Read::end;
  outcome_.observation.bytes_out += static_cast<std::uint64_t>(got);
  take(base::ByteView(bytes.data(), static_cast<std::size_t>(got)));
  return got > 0 ? Read::some : Read::end;
}

SecondRun::Read SecondRun::read_errors() {
  std::array<char, 65536> bytes;
  const ssize_t got = ::read(outputs_.second.get(), bytes.data(), bytes.size());
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Read::nothing_now : Read::end;
  return got > 0 ? Read::some : Read::end;
}

void SecondRun::on_output(base::ByteView bytes) {
  streams_.close_program_ends();
  outcome_.observation.bytes_out += bytes.size();
  take(bytes);
}

void SecondRun::take(base::ByteView bytes) {
  if (bytes.empty()) return;
  // As the client gets it: without what follows the head of a 204 or 304.
  const auto wants_body = [this] {
    if (task_.method == "HEAD") return false;
    return head_.fault() != cgi::HeadFault::none || head_.head().may_have_body();
  };
  if (head_is_over_) {
    if (wants_body()) copy_.add_body(bytes);
    return;
  }
  const cgi::HeadStep step = head_.feed(bytes);
  if (step == cgi::HeadStep::need_more) return;
  head_is_over_ = true;
  if (step == cgi::HeadStep::bad) return;
  copy_.take_head(head_.head());
  if (wants_body()) copy_.add_body(head_.body());
}

worker::Printed SecondRun::on_ended(const worker::Ending& ending) {
  // At most what a pipe can hold; a child that goes on writing must not hold up the bridge.
  for (unsigned reads = 0; reads < kRestReads && outputs_.first; ++reads) {
    if (read_output() != Read::some) break;
  }
  const bool printed = outcome_.observation.bytes_out > 0;
  over(ending);
  return {.output = printed};
}

void SecondRun::on_refused(const cgi::Refusal&) {
  outcome_.has_run = false;
  over({});
}

void SecondRun::over(const worker::Ending& ending) {
  if (on_over_ == nullptr) return;
  time_is_up_.stop();
  out_watch_.reset();
  err_watch_.reset();
  streams_.close_program_ends();
  if (body_ != nullptr) body_->close();
  compare::Observation& seen = outcome_.observation;
  seen.latency = std::chrono::duration_cast<compare::Microseconds>(loop_.now() - since_);
  if (run_ != nullptr) seen.queue = run_->queue_time();
  seen.cpu = ending.cpu;
  seen.peak_kib = ending.peak_kib;
  seen.bytes_in = task_.body.size();
  outcome_.answer = copy_.finish(ending);
  const OnOver on_over = std::exchange(on_over_, nullptr);
  on_over(std::move(outcome_));
}

}  // namespace shadow
