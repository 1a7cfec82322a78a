// Takes what a process writes to its standard error and puts it, line by line, into the log.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "loop/fd_watch.h"

namespace worker {

// Cuts a stream of bytes into log lines. A line longer than kLineBytesMax is logged in pieces.
class LineLog {
 public:
  static constexpr std::size_t kLineBytesMax = 4096;

  // Each line is logged as "LABEL stderr: LINE".
  explicit LineLog(std::string label) : label_(std::move(label)) {}
  ~LineLog() { flush(); }

  void write(base::ByteView bytes);
  // Logs an unfinished line as it is.
  void flush();
  // The last line logged, for a sentence that explains a failure.
  const std::string& last_line() const { return last_line_; }

 private:
  std::string label_;
  std::string line_;
  std::string last_line_;
};

// The reading end of a process's standard error.
class LogPipe {
 public:
  LogPipe(loop::Loop& loop, base::UniqueFd reading_end, std::string label);

  // Reads what is there now, up to a bound: for the moment when its process has died.
  void drain();
  const std::string& last_line() const { return lines_.last_line(); }

 private:
  base::UniqueFd fd_;
  LineLog lines_;
  loop::FdWatch watch_;
};

}  // namespace worker
