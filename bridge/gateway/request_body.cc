#include "gateway/request_body.h"

#include <fmt/format.h>

namespace gateway {

base::Status RequestBody::open(std::optional<std::uint64_t> length, bool chunked) {
  if (length.value_or(0) > 0) {
    pipe_ = std::make_unique<worker::BodyPipe>(loop_, *length,
                                               [this] { answer_->body_room_changed(); });
    return base::Done{};
  }
  if (!chunked) return base::Done{};
  auto spool = BodySpool::make();
  if (!spool) return spool.error();
  spool_ = spool.take();
  return base::Done{};
}

std::uint64_t RequestBody::received() const {
  if (pipe_ != nullptr) return pipe_->received();
  return spool_ ? spool_->size() : 0;
}

std::optional<cgi::Refusal> RequestBody::take(base::ByteView piece, std::uint64_t bytes_max) {
  if (spool_) {
    const auto kept = spool_->write(piece);
    if (!kept) return cgi::Refusal{500, kept.error().message};
  } else if (pipe_ != nullptr) {
    pipe_->write(piece);
  }
  if (bytes_max == 0 || received() <= bytes_max) return std::nullopt;
  return cgi::Refusal{413, fmt::format("a body of more than {} bytes (limits.body)", bytes_max)};
}

void RequestBody::end() {
  complete_ = true;
  if (pipe_ != nullptr) pipe_->end();
}

base::UniqueFd RequestBody::take_kept() {
  base::UniqueFd file = spool_->take();
  spool_.reset();
  return file;
}

void RequestBody::connect(base::UniqueFd writing_end) {
  if (pipe_ == nullptr) return;
  pipe_->connect(std::move(writing_end));
  if (complete_) return;
  timer_ = std::make_unique<loop::Timer>(loop_, [this] { watch(); });
  timer_->start(kPause);
}

// A client that pauses in its body, although there is room for it, may be waiting for the answer.
void RequestBody::watch() {
  if (complete_) return;
  if (pipe_->received() == seen_ && !pipe_->full()) return on_pause_();
  seen_ = pipe_->received();
  timer_->start(kPause);
}

void RequestBody::close() {
  if (pipe_ != nullptr) pipe_->close();
}

}  // namespace gateway
