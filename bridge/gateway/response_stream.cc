#include "gateway/response_stream.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "fastcgi/record_writer.h"

namespace gateway {
namespace {

// How much is read at once: a pipe's capacity, and so at most one record's content.
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

// A client that has its answer may leave without the program's last words.
void append_errors(base::OutBuffer& out, fastcgi::RequestId id, base::ByteView words) {
  const std::size_t needed = out.needed();
  std::string records;
  fastcgi::append_stream(records, fastcgi::RecordType::std_err, id, words);
  out.append(records);
  out.need_only(needed);
}

// Reads into out, after a record header that it then fills in. Returns what read(2) returned.
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

bool has_body(const ResponseStream::Wishes& wishes, const cgi::ResponseHead& head) {
  return wishes.body_wanted == BodyWanted::yes && head.may_have_body();
}

// head with more lines (each with CR LF) before its blank line; "" if there are none to add. They
// end as the blank line does: Apache does not recognise CR LF LF as the end of a head.
std::string with_fields(base::ByteView head, const std::string& fields) {
  if (fields.empty()) return {};
  const std::size_t blank = head.ends_with("\r\n") ? 2 : 1;
  std::string longer(head.substr(0, head.size() - blank));
  for (const char c : fields) {
    if (c != '\r' || blank == 2) longer += c;
  }
  longer += head.substr(head.size() - blank);
  return longer;
}

// Logs what does not reach the client as the program wrote it.
void tell_of_head(const worker::Label& label, const cgi::ResponseHead& head) {
  if (head.dropped_lines > 0) {
    base::log_warn("{}: {} line(s) of its head are dropped: {}", label(), head.dropped_lines,
                   base::printable(head.why_dropped, 1000));
  }
  if (head.replaced_bytes == 0) return;
  base::log_warn("{}: {} control byte(s) in its head are replaced by spaces", label(),
                 head.replaced_bytes);
}

base::ByteView measured(BodyMeasure& body, base::ByteView bytes, const worker::Label& label) {
  const bool was_cut = body.is_cut();
  const base::ByteView taken = body.take(bytes);
  if (body.is_cut() && !was_cut) {
    base::log_warn("{}: its body is longer than its Content-Length: the rest is dropped", label());
  }
  return taken;
}

// Once the program has ended; up to 64 KiB each.
constexpr unsigned kReadsATurn = 32;

std::array<char, kReadBytes>& scratch() {
  static std::array<char, kReadBytes> bytes;  // one loop; used only within a turn
  return bytes;
}

}  // namespace

ResponseStream::ResponseStream(loop::Loop& loop, Answer& answer, ResponseEvents& events,
                               const Wishes& wishes, worker::Label label)
    : loop_(loop),
      wishes_(wishes),
      answer_(&answer),
      events_(events),
      head_(wishes.head_bytes_max),
      label_(label),
      error_lines_(std::move(label)),
      pipes_(
          loop,
          [this] {
            if (late_) return (void)drain(Pipes::closed);
            pump_stdout();
            set_asked();
          },
          [this] {
            if (late_) return (void)drain(Pipes::closed);
            pump_stderr();
            set_asked();
          }),
      timer_(loop, [this] { on_timer(); }),
      held_back_(wishes.hold_back) {}

void ResponseStream::connect(base::FdPair ours) {
  pipes_.connect(std::move(ours));
  closed_ = false;
  timer_.start(kUnseen);
}

// It has run for so long that its output is watched from now on; or it has ended, and others'
// output is not awaited any longer.
void ResponseStream::on_timer() {
  if (late_) return end_pipes();
  pipes_.watch();
  set_asked();
}

base::FdPair ResponseStream::program_ended(Pipes pipes) {
  late_.emplace(loop_.now(),
                pipes == Pipes::kept ? LateOutput::Writers::none : LateOutput::Writers::anybody);
  timer_.stop();
  return drain(pipes);
}

bool ResponseStream::answer_is_whole() const {
  if (!head_given()) return false;
  if (closed_) return true;
  if (!has_body(wishes_, head_.head())) return true;
  return body_.is_whole();
}

base::FdPair ResponseStream::release() {
  timer_.stop();
  base::FdPair ours = pipes_.release();
  over_ = true;
  tell_dropped_errors();
  return ours;
}

void ResponseStream::resume() {
  if (over_) return;
  if (late_) return (void)drain(Pipes::closed);
  set_asked();
}

// One read per event while the program runs: others want their turn.
void ResponseStream::pump_stdout() {
  if (!answer_->has_room()) return;
  const ReadStep step = head_sent_ || head_bad_ ? read_body() : read_head();
  if (step != ReadStep::over) return;
  pipes_.close_output();
  closed_ = true;
  if (!late_) events_.on_output_closed();
}

void ResponseStream::pump_stderr() {
  // Beyond the limit nothing of it is passed on, so a slow client cannot stop it.
  if (!errors_.is_used_up() && !answer_->has_room()) return;
  if (read_errors() == ReadStep::over) end_stderr();
}

// What is in the pipes now is the rest. Nearly always that is some output and nothing else: so it
// is read first, and then both pipes are checked for more. Others may go on writing.
base::FdPair ResponseStream::drain(Pipes pipes) {
  if (over_) return {};
  OutputPipes::Rest rest{.output = true, .errors = false, .open = false, .output_open = false};
  bool goes_on = true;
  for (unsigned reads = 0; goes_on && (rest.output || rest.errors); ++reads) {
    if (!answer_->has_room() || reads == kReadsATurn) {
      timer_.stop();
      pipes_.watch();
      set_asked();
      return {};
    }
    if (pipes_.output() >= 0 && rest.output) pump_stdout();
    if (pipes_.errors() >= 0 && rest.errors) pump_stderr();
    rest = pipes_.rest();
    if (rest.output && !late_->knows_due()) late_->set_due(bytes_read_ + pipes_.output_bytes());
    goes_on = late_->may_go_on(loop_.now(), bytes_read_);
  }
  base::FdPair kept;
  if (pipes == Pipes::kept && rest.open) kept = pipes_.release();
  if (goes_on && late_->may_come() && rest.output_open && !answer_is_whole()) {
    pipes_.watch();
    set_asked();
    timer_.start(LateOutput::kQuiet);
    return {};
  }
  end_pipes();
  return kept;
}

void ResponseStream::end_stderr() {
  pipes_.close_errors();
  tell_dropped_errors();
  error_lines_.flush();
}

void ResponseStream::end_pipes() {
  timer_.stop();
  if (over_) return;
  pipes_.close_output();
  closed_ = true;
  end_stderr();
  complete();
}

void ResponseStream::note_read(std::uint64_t bytes) {
  bytes_read_ += bytes;
  last_output_ = loop_.now();
}

ResponseStream::ReadStep ResponseStream::read_head() {
  const ssize_t got = ::read(pipes_.output(), scratch().data(), kReadBytes);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? ReadStep::open : ReadStep::over;
  if (got == 0) return ReadStep::over;
  note_read(static_cast<std::uint64_t>(got));
  begin();
  feed_head(base::ByteView(scratch().data(), static_cast<std::size_t>(got)));
  return ReadStep::open;
}

void ResponseStream::feed_head(base::ByteView bytes) {
  const cgi::HeadStep step = head_.feed(bytes);
  if (step == cgi::HeadStep::complete) take_head();
  if (step == cgi::HeadStep::bad) head_bad_ = true;
}

void ResponseStream::take_output(base::ByteView bytes) {
  if (over_) return;
  note_read(bytes.size());
  begin();
  if (!head_sent_ && !head_bad_) return feed_head(bytes);
  if (head_bad_ || !has_body(wishes_, head_.head())) return;
  if (wishes_.copy != nullptr) wishes_.copy->add_body(bytes);
  append_record(output(), fastcgi::RecordType::std_out, wishes_.id, measured(body_, bytes, label_));
  wrote();
}

void ResponseStream::take_errors(base::ByteView bytes) {
  if (over_) return;
  const base::ByteView passed = errors_.take(bytes);
  if (passed.empty()) return;
  begin();
  error_lines_.write(passed);
  if (!wishes_.errors_to_server) return;
  append_errors(answer_->out(), wishes_.id, passed);
  answer_->wrote();
}

void ResponseStream::take_head() {
  head_sent_ = true;
  tell_of_head(label_, head_.head());
  if (wishes_.copy != nullptr) wishes_.copy->take_head(head_.head());
  base::ByteView body = has_body(wishes_, head_.head()) ? head_.body() : base::ByteView();
  if (wishes_.copy != nullptr && !body.empty()) wishes_.copy->add_body(body);
  body_.announce(head_.head().content_length);
  body = measured(body_, body, label_);
  const std::string longer = with_fields(head_.head().bytes, added_fields_);
  const base::ByteView head = longer.empty() ? head_.head().bytes : base::ByteView(longer);
  // A head that was not changed is directly before the bytes that came with it: one record for
  // both.
  const bool adjoin = head.data() + head.size() == body.data();
  const std::size_t together = adjoin ? head.size() + body.size() : head.size();
  append_record(output(), fastcgi::RecordType::std_out, wishes_.id, {head.data(), together});
  if (!adjoin) append_record(output(), fastcgi::RecordType::std_out, wishes_.id, body);
  wrote();
}

ResponseStream::ReadStep ResponseStream::read_body() {
  const bool wanted = !head_bad_ && has_body(wishes_, head_.head());
  // What may go beyond the Content-Length does not go straight to the client.
  const bool straight = wanted && body_.left() >= kReadBytes;
  // RFC 3875 §6.4: everything that the program prints is read, whether anybody needs it or not.
  const ssize_t got =
      straight ? read_record(pipes_.output(), output(), fastcgi::RecordType::std_out, wishes_.id)
               : ::read(pipes_.output(), scratch().data(), kReadBytes);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? ReadStep::open : ReadStep::over;
  if (got == 0) return ReadStep::over;
  const auto count = static_cast<std::size_t>(got);
  note_read(count);
  begin();
  if (!wanted) return ReadStep::open;
  base::ByteView piece(scratch().data(), count);
  if (straight) {
    const base::ByteView written = output().bytes();
    piece = written.substr(written.size() - fastcgi::padding_after(count).size() - count, count);
  }
  if (wishes_.copy != nullptr) wishes_.copy->add_body(piece);
  const base::ByteView passed = measured(body_, piece, label_);
  if (!straight) append_record(output(), fastcgi::RecordType::std_out, wishes_.id, passed);
  wrote();
  return ReadStep::open;
}

ResponseStream::ReadStep ResponseStream::read_errors() {
  const ssize_t got = ::read(pipes_.errors(), scratch().data(), kReadBytes);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? ReadStep::open : ReadStep::over;
  if (got == 0) return ReadStep::over;
  take_errors({scratch().data(), static_cast<std::size_t>(got)});
  return ReadStep::open;
}

void ResponseStream::tell_dropped_errors() {
  const std::string told = errors_.tell_dropped();
  if (told.empty()) return;
  error_lines_.flush();
  base::log_warn("{}: {}", label_(), told);
  if (over_ || !wishes_.errors_to_server) return;
  append_errors(answer_->out(), wishes_.id, "cgibridge: " + told + "\n");
  answer_->wrote();
}

void ResponseStream::begin() {
  if (std::exchange(begun_, true)) return;
  events_.on_begun();
}

void ResponseStream::wrote() {
  if (held_back_ == HoldBack::no) return answer_->wrote();
  if (held_.size() >= kHeldMax) let_go();
}

void ResponseStream::let_go() {
  if (held_back_ == HoldBack::no) return;
  held_back_ = HoldBack::no;
  if (held_.empty()) return;
  answer_->out().append(held_.bytes());
  held_.consume(held_.size());
  answer_->wrote();
}

void ResponseStream::complete() {
  over_ = true;
  let_go();
  if (head_sent_) return events_.on_complete();
  head_.end();
  events_.on_bad_head(std::string(cgi::describe(head_.fault())));
}

void ResponseStream::set_asked() {
  const unsigned asked = answer_->has_room() ? loop::kReadable : loop::kNothing;
  pipes_.ask(asked, errors_.is_used_up() ? unsigned{loop::kReadable} : asked);
}

}  // namespace gateway
