// A request's body, on its way from the connection to the program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cgi/environment.h"
#include "cgi/refusal.h"
#include "gateway/body_spool.h"
#include "loop/timer.h"
#include "worker/body_pipe.h"

namespace gateway {

// One whose length was announced is passed on as it comes; one without a length (a chunked one) is
// kept until it has come whole, and its program starts then. Owned by the request.
class RequestBody {
 public:
  // A body that does not go on for so long, though it could, no longer holds back the answer.
  static constexpr std::chrono::milliseconds kPause{100};

  // Both run on the loop.
  struct Events {
    std::function<void()> on_room;   // full() is false again
    std::function<void()> on_pause;  // the client pauses, and may be waiting for the answer
  };

  RequestBody(loop::Loop& loop, Events events) : loop_(loop), events_(std::move(events)) {}

  // Its length as announced, if it was; chunked: it was not, and there is a body. An error: it
  // cannot be kept.
  base::Status open(std::optional<std::uint64_t> length, bool chunked);

  bool is_passed_on() const { return pipe_ != nullptr; }
  bool is_kept() const { return spool_.has_value(); }
  bool complete() const { return complete_; }
  // The program has to take some of it before more is read.
  bool full() const { return pipe_ != nullptr && pipe_->full(); }
  std::uint64_t received() const;

  // bytes_max: limits.body, 0: no limit. Why it goes no further, if it does not.
  std::optional<cgi::Refusal> take(base::ByteView piece, std::uint64_t bytes_max);
  // It has come whole, or as much of it as will come.
  void end();
  // The kept one, from its start. Once, after end().
  base::UniqueFd take_kept();

  // The program has begun: writing_end is where it is passed on.
  void connect(base::UniqueFd writing_end);
  // The program has ended.
  void close();

 private:
  void watch();

  loop::Loop& loop_;
  const Events events_;
  std::unique_ptr<worker::BodyPipe> pipe_;
  std::optional<BodySpool> spool_;
  bool complete_ = false;
  std::uint64_t seen_ = 0;  // of it, when the client was last looked at
  std::unique_ptr<loop::Timer> timer_;
};

}  // namespace gateway
