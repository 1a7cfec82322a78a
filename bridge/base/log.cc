#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

#include "base/append_file.h"
#include "base/utf8.h"

namespace base {
namespace {

// The text of an event, always on one line: paths and reasons contain what a client sent.
class OneLine : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    const std::string line = printable(text, std::string_view::npos);
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<OneLine>();
  }
};

// Writes to standard error or to a file, whichever is set.
class LogSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  AppendFile& file() { return file_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const ByteView bytes(line.data(), line.size());
    if (file_.is_open() && file_.append(bytes) == AppendFile::Outcome::written) return;
    // There is nowhere left to report that this failed.
    (void)!::write(STDERR_FILENO, bytes.data(), bytes.size());
  }
  void flush_() override {}

  AppendFile file_;
};

// The process's log; created by start_log().
LogSink* sink = nullptr;

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void log_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  spdlog::logger& logger = *spdlog::default_logger_raw();
  const auto theirs = spdlog_level(level);
  if (logger.should_log(theirs)) logger.log(theirs, fmt::vformat(format, arguments));
}

void start_log(std::string_view level) {
  auto written = std::make_shared<LogSink>();
  sink = written.get();
  auto logger = std::make_shared<spdlog::logger>("cgibridge", std::move(written));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<OneLine>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %*");
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(std::string(level)));
  spdlog::set_default_logger(logger);
}

void set_log_level(std::string_view level) {
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
}

Status set_log_file(const std::string& path) {
  if (sink == nullptr || sink->file().path() == path) return Done{};
  if (!path.empty()) return sink->file().open(path);
  sink->file().close();
  return Done{};
}

Status reopen_log() {
  if (sink == nullptr || !sink->file().is_open()) return Done{};
  return sink->file().reopen();
}

std::uint64_t log_lines_dropped() {
  return sink == nullptr ? 0 : sink->file().dropped();
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t visible = visible_size(rest);
    const std::size_t size = std::max<std::size_t>(visible, 1);
    if (size > bytes_max - (text.size() - rest.size())) {
      return out + fmt::format("... ({} bytes)", text.size());
    }
    if (visible > 0) {
      out += rest.substr(0, size);
    } else if (rest.front() == '\n') {
      out += "\\n";
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(rest.front()));
    }
    rest.remove_prefix(size);
  }
  return out;
}

}  // namespace base
