#include "worker/body_pipe.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace worker {

BodyPipe::BodyPipe(loop::Loop& loop, std::uint64_t bytes_max, std::function<void()> on_room)
    : loop_(loop), rest_(bytes_max), on_room_(std::move(on_room)) {}

void BodyPipe::connect(base::UniqueFd writing_end) {
  watch_.reset();
  fd_ = std::move(writing_end);
  flush();
}

void BodyPipe::write(base::ByteView piece) {
  received_ += piece.size();
  if (closed_ || ended_) return;
  // RFC 3875 §4.2: the program gets no more than CONTENT_LENGTH bytes.
  piece = piece.substr(0, std::min<std::uint64_t>(rest_, piece.size()));
  rest_ -= piece.size();
  // Write straight from the connection's bytes into the pipe, as long as it takes them.
  while (held_.empty() && fd_ && !piece.empty()) {
    const ssize_t written = ::write(fd_.get(), piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) return close();
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
  held_.append(piece);
  if (rest_ == 0) ended_ = true;
  flush();
}

void BodyPipe::end() {
  ended_ = true;
  flush();
}

void BodyPipe::close() {
  closed_ = true;
  close_pipe();
  const bool was_full = full();
  held_.consume(held_.size());
  if (was_full) on_room_();
}

void BodyPipe::close_pipe() {
  watch_.reset();
  fd_.reset();
}

void BodyPipe::flush() {
  const bool was_full = full();
  write_held();
  if (was_full && !full()) on_room_();
}

void BodyPipe::write_held() {
  if (!fd_) return;
  while (!held_.empty()) {
    const ssize_t written = ::write(fd_.get(), held_.bytes().data(), held_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) return close();  // EPIPE: the program reads no further
    held_.consume(static_cast<std::size_t>(written));
  }
  if (held_.empty() && ended_) return close_pipe();
  set_asked();
}

void BodyPipe::set_asked() {
  if (held_.empty()) {
    if (watch_ != nullptr) watch_->ask(loop::kNothing);
    return;
  }
  if (watch_ == nullptr) {
    watch_ = std::make_unique<loop::FdWatch>(loop_, fd_.get(), [this](unsigned) { flush(); });
  }
  watch_->ask(loop::kWritable);
}

}  // namespace worker
