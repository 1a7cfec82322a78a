#include "worker/log_pipe.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"

namespace worker {

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
  base::log_warn("{} stderr: {}", label_, base::printable(line_, kLineBytesMax));
  last_line_ = std::move(line_);
  line_.clear();
}

LogPipe::LogPipe(loop::Loop& loop, base::UniqueFd reading_end, std::string label)
    : fd_(std::move(reading_end)),
      lines_(std::move(label)),
      watch_(loop, fd_.get(), [this](unsigned) { drain(); }) {
  base::set_nonblocking(fd_.get());
  watch_.ask(loop::kReadable);
}

void LogPipe::drain() {
  std::array<char, 16384> bytes;
  // One pipe's worth a turn: a process that never stops writing must not stop the bridge.
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
