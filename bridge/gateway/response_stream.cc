#include "gateway/response_stream.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "fastcgi/record_writer.h"

namespace gateway {
namespace {

// What is read at once: a pipe's capacity, and so at most one record's content.
constexpr std::size_t kReadBytes = fastcgi::kRecordContentMax;
static_assert(kReadBytes <= fastcgi::kRecordContentMax);

void append_record(base::OutBuffer& out, fastcgi::RecordType type, fastcgi::RequestId id,
                   base::ByteView rest) {
  while (!rest.empty()) {
    const base::ByteView content = fastcgi::take_record_content(rest);
    const auto header = fastcgi::stream_header(type, id, content.size());
    out.append({header.data(), header.size()});
    out.append(content);
    out.append(fastcgi::padding_after(content.size()));
  }
}

// Reads into out, behind a record header that it then writes. What read(2) gave.
ssize_t read_record(int fd, base::OutBuffer& out, fastcgi::RecordType type, fastcgi::RequestId id) {
  char* room = out.room(fastcgi::kHeaderSize + kReadBytes + 8);
  const ssize_t got = ::read(fd, room + fastcgi::kHeaderSize, kReadBytes);
  if (got <= 0) return got;
  const auto content_length = static_cast<std::size_t>(got);
  const auto header = fastcgi::stream_header(type, id, content_length);
  const base::ByteView padding = fastcgi::padding_after(content_length);
  std::copy(header.begin(), header.end(), room);
  std::copy(padding.begin(), padding.end(), room + fastcgi::kHeaderSize + content_length);
  out.commit(fastcgi::kHeaderSize + content_length + padding.size());
  return got;
}

std::array<char, kReadBytes>& scratch() {
  static std::array<char, kReadBytes> bytes;  // one loop, and never held over a turn
  return bytes;
}

}  // namespace

ResponseStream::ResponseStream(loop::Loop& loop, fastcgi::RequestId id, BodyWanted body_wanted,
                               HoldBack hold_back, std::size_t head_bytes_max, std::string label,
                               Sink sink)
    : loop_(loop),
      id_(id),
      body_wanted_(body_wanted),
      sink_(std::move(sink)),
      head_(head_bytes_max),
      error_lines_(std::move(label)),
      held_back_(hold_back) {}

void ResponseStream::connect(base::UniqueFd stdout_end, base::UniqueFd stderr_end) {
  stdout_ = std::move(stdout_end);
  stderr_ = std::move(stderr_end);
  stdout_watch_ = std::make_unique<loop::FdWatch>(loop_, stdout_.get(), [this](unsigned) {
    if (pump_stdout()) set_asked();
  });
  stderr_watch_ = std::make_unique<loop::FdWatch>(loop_, stderr_.get(), [this](unsigned) {
    if (pump_stderr()) set_asked();
  });
  set_asked();
}

void ResponseStream::program_ended() {
  ended_ = true;
  pump();
}

base::FdPair ResponseStream::release() {
  stdout_watch_.reset();
  stderr_watch_.reset();
  over_ = true;
  return {std::move(stdout_), std::move(stderr_)};
}

void ResponseStream::resume() {
  pump();
}

void ResponseStream::pump() {
  if (over_) return;
  if (pump_stderr() && pump_stdout()) set_asked();
}

// False once nothing is left to do here: this may be destroyed then.
bool ResponseStream::pump_stdout() {
  ReadStep step = ReadStep::more;
  while (stdout_ && step == ReadStep::more && sink_.has_room()) {
    step = head_sent_ || head_bad_ ? read_body() : read_head();
    // One read an event while the program runs: others want their turn.
    if (!ended_ && step == ReadStep::more) break;
  }
  if (step == ReadStep::over || (ended_ && step == ReadStep::empty)) {
    stdout_watch_.reset();
    stdout_.reset();
  }
  if (!ended_ || stdout_) return true;
  if (stderr_ && !pump_stderr()) return false;
  if (stderr_) return true;
  end_of_stdout();
  return false;
}

bool ResponseStream::pump_stderr() {
  ReadStep step = ReadStep::more;
  while (stderr_ && step == ReadStep::more && sink_.has_room()) {
    step = read_errors();
    if (!ended_ && step == ReadStep::more) break;
  }
  if (step == ReadStep::over || (ended_ && step == ReadStep::empty)) {
    stderr_watch_.reset();
    stderr_.reset();
    error_lines_.flush();
  }
  return true;
}

ResponseStream::ReadStep ResponseStream::read_head() {
  const ssize_t got = ::read(stdout_.get(), scratch().data(), kReadBytes);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? ReadStep::empty : ReadStep::over;
  if (got == 0) return ReadStep::over;
  bytes_read_ += static_cast<std::uint64_t>(got);
  switch (head_.feed(base::ByteView(scratch().data(), static_cast<std::size_t>(got)))) {
    case cgi::HeadStep::need_more:
      return ReadStep::more;
    case cgi::HeadStep::complete:
      take_head();
      return ReadStep::more;
    case cgi::HeadStep::bad:
      break;
  }
  head_bad_ = true;
  return ReadStep::more;
}

void ResponseStream::take_head() {
  head_sent_ = true;
  sink_.on_head(head_.head());
  append_record(out(), fastcgi::RecordType::std_out, id_, head_.head().bytes);
  if (body_wanted_ == BodyWanted::yes) {
    append_record(out(), fastcgi::RecordType::std_out, id_, head_.body());
  }
  wrote();
}

ResponseStream::ReadStep ResponseStream::read_body() {
  const bool wanted = body_wanted_ == BodyWanted::yes && !head_bad_;
  // RFC 3875 §6.4: all that the program prints is read, whether anybody wants it or not.
  const ssize_t got = wanted ? read_record(stdout_.get(), out(), fastcgi::RecordType::std_out, id_)
                             : ::read(stdout_.get(), scratch().data(), kReadBytes);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? ReadStep::empty : ReadStep::over;
  if (got == 0) return ReadStep::over;
  bytes_read_ += static_cast<std::uint64_t>(got);
  if (wanted) wrote();
  return ReadStep::more;
}

ResponseStream::ReadStep ResponseStream::read_errors() {
  const std::size_t before = out().size();
  const ssize_t got = read_record(stderr_.get(), out(), fastcgi::RecordType::std_err, id_);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? ReadStep::empty : ReadStep::over;
  if (got == 0) return ReadStep::over;
  error_lines_.write(
      out().bytes().substr(before + fastcgi::kHeaderSize, static_cast<std::size_t>(got)));
  wrote();
  return ReadStep::more;
}

void ResponseStream::wrote() {
  if (held_back_ == HoldBack::no) return sink_.wrote();
  if (held_.size() >= kHeldMax) let_go();
}

void ResponseStream::let_go() {
  if (held_back_ == HoldBack::no) return;
  held_back_ = HoldBack::no;
  if (held_.empty()) return;
  sink_.out.append(held_.bytes());
  held_.consume(held_.size());
  sink_.wrote();
}

void ResponseStream::end_of_stdout() {
  over_ = true;
  let_go();
  if (head_sent_) return sink_.on_complete();
  head_.end();
  sink_.on_bad_head(std::string(cgi::describe(head_.fault())));
}

void ResponseStream::set_asked() {
  const unsigned asked = sink_.has_room() ? loop::kReadable : loop::kNothing;
  if (stdout_watch_ != nullptr) stdout_watch_->ask(asked);
  if (stderr_watch_ != nullptr) stderr_watch_->ask(asked);
}

}  // namespace gateway
