// Reads what a process writes to its standard error and puts it into the log, line by line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "loop/clock.h"
#include "loop/fd_watch.h"

namespace worker {

// How much of what a program writes to its standard error is passed on. Counts what is passed on,
// each line as kLineBytesLeast at least, because the log adds more than that to each line; and
// counts what is dropped beyond the limit. The reader of the program's standard error goes on
// reading when nothing passes any more: a program never has to wait.
class ErrorAllowance {
 public:
  static constexpr std::size_t kLineBytesLeast = 64;

  // bytes_max: the limit; 0: none.
  explicit ErrorAllowance(std::uint64_t bytes_max = 0) : bytes_max_(bytes_max), room_(bytes_max) {}

  bool is_used_up() const { return bytes_max_ > 0 && room_ == 0; }
  // Returns the part that passes; the rest is counted as dropped.
  base::ByteView take(base::ByteView bytes);

  // A sentence about what was dropped since the last call; "" if nothing was.
  std::string tell_dropped() {
    const std::uint64_t dropped = std::exchange(dropped_, 0);
    if (dropped == 0) return {};
    return std::to_string(dropped) +
           " more bytes of standard error are dropped (limits.error_output is " +
           std::to_string(bytes_max_) + ")";
  }
  void renew() { room_ = bytes_max_; }

  // Dropped from all programs, for the metrics.
  static std::uint64_t all_dropped() { return all_dropped_; }

 private:
  std::uint64_t bytes_max_;
  std::uint64_t room_;
  std::size_t line_bytes_ = 0;  // of the current line
  std::uint64_t dropped_ = 0;
  static inline std::uint64_t all_dropped_ = 0;
};

// What each line starts with; called only when a line is written.
using Label = std::function<std::string()>;

// Cuts a stream of bytes into log lines. A line longer than kLineBytesMax is logged in pieces.
class LineLog {
 public:
  static constexpr std::size_t kLineBytesMax = 4096;

  // Each line is logged as "LABEL stderr: LINE".
  explicit LineLog(std::string label) : label_([label] { return label; }) {}
  explicit LineLog(Label label) : label_(std::move(label)) {}
  ~LineLog() { flush(); }

  void write(base::ByteView bytes);
  // Logs an unfinished line.
  void flush();
  // The last line logged, for a sentence that explains a failure. But if the loader could not find
  // a symbol, it is the loader's line, which says more than what the program made of it.
  const std::string& last_line() const { return last_line_; }

 private:
  Label label_;
  std::string line_;
  std::string last_line_;
};

// A LineLog that takes at most bytes_max (0: no limit) in a minute. When the limit is reached, a
// line says so; when the minute or the process is over, another line says how much more there was.
class LimitedLog {
 public:
  LimitedLog(const loop::Clock& clock, std::string label, std::uint64_t bytes_max);
  ~LimitedLog() { tell_dropped(); }

  void write(base::ByteView bytes);
  void flush() { lines_.flush(); }
  const std::string& last_line() const { return lines_.last_line(); }

 private:
  void tell_dropped();

  const loop::Clock& clock_;
  const std::string label_;
  ErrorAllowance allowance_;
  base::TimePoint since_{};
  bool told_ = false;  // in this minute
  LineLog lines_;
};

// The reading end of a process's standard error. bytes_max: as in LimitedLog.
class LogPipe {
 public:
  LogPipe(loop::Loop& loop, base::UniqueFd reading_end, std::string label, std::uint64_t bytes_max);

  // Reads what is there now, up to a bound: to be called when the process has died.
  void drain();
  const std::string& last_line() const { return lines_.last_line(); }

 private:
  base::UniqueFd fd_;
  LimitedLog lines_;
  loop::FdWatch watch_;
};

}  // namespace worker
