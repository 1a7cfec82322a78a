// A request's body, on its way from the connection to the program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cgi/environment.h"
#include "cgi/refusal.h"
#include "gateway/body_spool.h"
#include "gateway/exchange.h"
#include "loop/timer.h"
#include "worker/body_pipe.h"

namespace gateway {

// A body whose length was announced is passed on as it arrives. One without a length (chunked) is
// kept until it is complete, and the program starts then. Owned by the request.
class RequestBody {
 public:
  // If a body pauses for this long although there is room for it, it no longer holds back the
  // answer.
  static constexpr std::chrono::milliseconds kPause{100};

  // answer: is told when full() is false again (body_room_changed()). on_pause: the client pauses,
  // and may be waiting for the answer. Both run on the loop.
  RequestBody(loop::Loop& loop, Answer& answer, std::function<void()> on_pause)
      : loop_(loop), answer_(&answer), on_pause_(std::move(on_pause)) {}

  // length: as announced, if it was; chunked: it was not, and there is a body. An error: it cannot
  // be kept.
  base::Status open(std::optional<std::uint64_t> length, bool chunked);

  bool is_passed_on() const { return pipe_ != nullptr; }
  bool is_kept() const { return spool_.has_value(); }
  bool complete() const { return complete_; }
  // Whether the program has to take some of it before more is read.
  bool full() const { return pipe_ != nullptr && pipe_->full(); }
  std::uint64_t received() const;

  // bytes_max: limits.body; 0: no limit. Returns why the body must not go on, if so.
  std::optional<cgi::Refusal> take(base::ByteView piece, std::uint64_t bytes_max);
  // The body is complete, or no more of it will come.
  void end();
  // The kept body, to be read from its start. To be called once, after end().
  base::UniqueFd take_kept();

  // The program has begun: the body is passed on to writing_end.
  void connect(base::UniqueFd writing_end);
  // The program has ended.
  void close();

  // From now on that one is told.
  void move_to(Answer& answer) { answer_ = &answer; }

 private:
  void watch();

  loop::Loop& loop_;
  Answer* answer_;
  const std::function<void()> on_pause_;
  std::unique_ptr<worker::BodyPipe> pipe_;
  std::optional<BodySpool> spool_;
  bool complete_ = false;
  std::uint64_t seen_ = 0;  // of it, when the client was last checked
  std::unique_ptr<loop::Timer> timer_;
};

}  // namespace gateway
