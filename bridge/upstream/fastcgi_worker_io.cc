// The bytes of a request on their way to the program, and of its answer on their way back.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "upstream/fastcgi_worker.h"

namespace upstream {
namespace {

using worker::WorkerState;

constexpr std::size_t kReadBytes = 64 * base::kKiB;
// What is read quietly is copied twice.
constexpr std::size_t kQuietBytes = 16 * base::kKiB;
constexpr std::size_t kBodyPieceBytes = 32 * base::kKiB;
// More than a socket can hold.
constexpr std::size_t kRestMax = 1 * base::kMiB;

std::array<char, kReadBytes>& read_bytes() {
  static std::array<char, kReadBytes> bytes;  // one loop only, and used up within the turn
  return bytes;
}

}  // namespace

// ---- to the program ----

void FastcgiWorker::take_body(base::UniqueFd& body) {
  body_ = std::move(body);
  if (!body_) return;
  struct stat status = {};
  body_is_file_ = ::fstat(body_.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (body_is_file_) return;
  body_watch_ = std::make_unique<loop::FdWatch>(loop_, body_.get(), [this](unsigned) {
    read_body();
    send();
  });
}

void FastcgiWorker::read_body() {
  std::array<char, kBodyPieceBytes> bytes;
  const ssize_t got = ::read(body_.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) {
    return codec_.append_body(out_, base::ByteView(bytes.data(), static_cast<std::size_t>(got)));
  }
  drop_body();
  codec_.end_body(out_);
}

void FastcgiWorker::drop_body() {
  body_watch_.reset();
  body_.reset();
  body_is_file_ = false;
}

FastcgiWorker::Sent FastcgiWorker::write_out() {
  std::size_t at = 0;
  while (at < out_.size() && !deaf_) {
    const ssize_t sent = ::send(fd_.get(), out_.data() + at, out_.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {
      deaf_ = true;
    } else {
      at += static_cast<std::size_t>(sent);
    }
  }
  out_.erase(0, at);
  if (at > 0) reader_.let_go(fd_.get());
  if (deaf_) return Sent::nothing_more;
  return out_.empty() ? Sent::all : Sent::some;
}

void FastcgiWorker::send() {
  while (write_out() == Sent::all && body_is_file_) read_body();
  if (deaf_) {
    // A program may answer and close with most of its body unread: what it said still counts.
    out_.clear();
    drop_body();
  }
  set_asked();
}

void FastcgiWorker::set_asked() {
  if (watch_ == nullptr) return;
  const bool has_room = state() != WorkerState::busy || sink_ == nullptr || sink_->has_room();
  const unsigned readable = loop::kReadable | (is_long_ ? 0 : loop::kPeerGone | loop::kOnlyNew);
  watch_->ask((has_room ? readable : loop::kNothing) |
              (out_.empty() ? loop::kNothing : loop::kWritable));
  if (body_watch_ != nullptr) body_watch_->ask(out_.empty() ? loop::kReadable : loop::kNothing);
}

void FastcgiWorker::resume() {
  set_asked();
}

// ---- from the program ----

void FastcgiWorker::on_event(unsigned readiness) {
  const std::uint64_t connection = connections_;
  bool is_more = (readiness & loop::kReadable) != 0;
  // The connection's end is reported once, together with what came before it.
  while (is_more && connection == connections_) is_more = read() && (readiness & loop::kPeerGone);
  if (connection == connections_) send();
}

// Returns whether there was anything.
bool FastcgiWorker::read() {
  const ssize_t got = is_long_ ? reader_.read(fd_.get(), read_bytes().data(), kReadBytes)
                               : reader_.read_quietly(fd_.get(), read_bytes().data(), kQuietBytes);
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    on_connection_over(got == 0 ? Over::closed : Over::reset);
    return true;
  }
  is_long_ |= static_cast<std::size_t>(got) == kQuietBytes;
  take(base::ByteView(read_bytes().data(), static_cast<std::size_t>(got)));
  return true;
}

// Its children may have the connection, too, and go on writing.
void FastcgiWorker::read_rest() {
  for (std::size_t left = kRestMax; fd_ && left > 0;) {
    const ssize_t got = reader_.read(fd_.get(), read_bytes().data(), kReadBytes);
    if (got <= 0) return;
    left -= std::min(left, static_cast<std::size_t>(got));
    take(base::ByteView(read_bytes().data(), static_cast<std::size_t>(got)));
  }
}

}  // namespace upstream
