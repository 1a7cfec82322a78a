#include "worker/log_pipe.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"

namespace worker {
namespace {

constexpr std::string_view kLackedSymbol = "undefined symbol";

}  // namespace

base::ByteView ErrorAllowance::take(base::ByteView bytes) {
  if (bytes_max_ == 0) return bytes;
  std::size_t passed = 0;
  while (passed < bytes.size() && room_ > 0) {
    const std::size_t line_end = std::min(bytes.find('\n', passed), bytes.size() - 1) + 1;
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(line_end - passed, room_));
    passed += piece;
    room_ -= piece;
    line_bytes_ += piece;
    if (bytes[passed - 1] != '\n') continue;
    const std::size_t more = kLineBytesLeast - std::min(kLineBytesLeast, line_bytes_);
    room_ -= std::min<std::uint64_t>(room_, more);
    line_bytes_ = 0;
  }
  dropped_ += bytes.size() - passed;
  all_dropped_ += bytes.size() - passed;
  return bytes.substr(0, passed);
}

void LineLog::write(base::ByteView bytes) {
  while (!bytes.empty()) {
    const std::size_t line_end = bytes.find('\n');
    const bool whole = line_end != bytes.npos;
    line_ += bytes.substr(0, line_end);
    bytes.remove_prefix(whole ? line_end + 1 : bytes.size());
    if (whole || line_.size() >= kLineBytesMax) flush();
  }
}

void LineLog::flush() {
  if (line_.empty()) return;
  base::log_warn("{} stderr: {}", label_(), base::printable(line_, kLineBytesMax));
  if (last_line_.find(kLackedSymbol) == last_line_.npos) last_line_ = std::move(line_);
  line_.clear();
}

LimitedLog::LimitedLog(const loop::Clock& clock, std::string label, std::uint64_t bytes_max)
    : clock_(clock), label_(label), allowance_(bytes_max), lines_(std::move(label)) {}

void LimitedLog::write(base::ByteView bytes) {
  const base::TimePoint now = clock_.now();
  if (now - since_ > std::chrono::minutes(1)) {
    tell_dropped();
    allowance_.renew();
    since_ = now;
    told_ = false;
  }
  const base::ByteView passed = allowance_.take(bytes);
  lines_.write(passed);
  if (passed.size() == bytes.size() || std::exchange(told_, true)) return;
  base::log_warn(
      "{}: more standard error in a minute than limits.error_output: the rest is dropped", label_);
}

void LimitedLog::tell_dropped() {
  const std::string told = allowance_.tell_dropped();
  if (told.empty()) return;
  lines_.flush();
  base::log_warn("{}: {} in a minute", label_, told);
}

LogPipe::LogPipe(loop::Loop& loop, base::UniqueFd reading_end, std::string label,
                 std::uint64_t bytes_max)
    : fd_(std::move(reading_end)),
      lines_(loop, std::move(label), bytes_max),
      watch_(loop, fd_.get(), [this](unsigned) { drain(); }) {
  base::set_nonblocking(fd_.get());
  watch_.ask(loop::kReadable);
}

void LogPipe::drain() {
  std::array<char, 16384> bytes;
  // At most one pipe's worth per turn: a process that never stops writing must not stop the bridge.
  for (int i = 0; i < 4; ++i) {
    const ssize_t got = ::read(fd_.get(), bytes.data(), bytes.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      watch_.ask(loop::kNothing);
      lines_.flush();
      return;
    }
    lines_.write(base::ByteView(bytes.data(), static_cast<std::size_t>(got)));
  }
}

}  // namespace worker
