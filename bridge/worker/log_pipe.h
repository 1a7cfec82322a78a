// Takes what a process writes to its standard error and puts it, line by line, into the log.
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

// How much of what a program writes to its standard error is passed on: counts that, a line as
// kLineBytesLeast at least, since the log puts more than that in front of each; and what is dropped
// beyond it. Whoever reads the program's standard error goes on
// reading when nothing passes any more: a program never waits for it.
class ErrorAllowance {
 public:
  static constexpr std::size_t kLineBytesLeast = 64;

  // bytes_max: 0: no limit.
  explicit ErrorAllowance(std::uint64_t bytes_max = 0) : bytes_max_(bytes_max), room_(bytes_max) {}

  bool is_used_up() const { return bytes_max_ > 0 && room_ == 0; }
  // The part that passes; the rest is counted.
  base::ByteView take(base::ByteView bytes);

  // A sentence about what was dropped since it was last asked, "" if nothing was.
  std::string tell_dropped() {
    const std::uint64_t dropped = std::exchange(dropped_, 0);
    if (dropped == 0) return {};
    return std::to_string(dropped) +
           " more bytes of standard error are dropped (limits.error_output is " +
           std::to_string(bytes_max_) + ")";
  }
  void renew() { room_ = bytes_max_; }

  // Of all programs, for the metrics.
  static std::uint64_t all_dropped() { return all_dropped_; }

 private:
  std::uint64_t bytes_max_;
  std::uint64_t room_;
  std::size_t line_bytes_ = 0;  // of the line under way
  std::uint64_t dropped_ = 0;
  static inline std::uint64_t all_dropped_ = 0;
};

// What stands in front of a line; asked for only if one is written.
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
  // Logs an unfinished line as it is.
  void flush();
  // The last line logged, for a sentence that explains a failure; but if the loader lacked a
  // symbol, its line, which says more than what the program made of it.
  const std::string& last_line() const { return last_line_; }

 private:
  Label label_;
  std::string line_;
  std::string last_line_;
};

// A LineLog that takes no more than bytes_max (0: no limit) in a minute; a line then says so, and
// another, when the minute or the process is over, how much more there was.
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

// The reading end of a process's standard error. bytes_max: as for LimitedLog.
class LogPipe {
 public:
  LogPipe(loop::Loop& loop, base::UniqueFd reading_end, std::string label, std::uint64_t bytes_max);

  // Reads what is there now, up to a bound: for the moment when its process has died.
  void drain();
  const std::string& last_line() const { return lines_.last_line(); }

 private:
  base::UniqueFd fd_;
  LimitedLog lines_;
  loop::FdWatch watch_;
};

}  // namespace worker
