// What is counted for the requests that one arm answered.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "compare/arm.h"
#include "compare/histogram.h"
#include "compare/namespace.h"

namespace compare {

using Microseconds = std::chrono::microseconds;

// What went wrong with a request: the first value that fits. gone: its client left before the end,
// which is not an error of the program.
enum class Failure {
  none,
  not_started,  // it could not be launched
  refused,      // the queue was full, or it waited too long (503)
  timeout,      // 504, or an answer that was cut off
  bad_answer,   // not a valid CGI response (502)
  signal,       // the program was killed by one
  exit_code,    // not 0
  status,       // its own answer was 5xx
  gone,
};
inline constexpr std::size_t kFailures = 9;
inline constexpr std::array<std::string_view, kFailures> kFailureNames = {
    "none",   "not_started", "refused",    "timeout",    "bad_answer",
    "signal", "exit_code",   "status_5xx", "client_gone"};

constexpr std::string_view to_string(Failure failure) {
  return kFailureNames[std::size_t(failure)];
}
constexpr bool is_error(Failure failure) {
  return failure != Failure::none && failure != Failure::gone;
}

// One request, once it is over.
struct Observation {
  Arm arm = Arm::classic;
  Failure failure = Failure::none;
  int status = 0;               // that the client received; 0: none
  Microseconds latency{};       // from its params to its END_REQUEST
  Microseconds queue{};         // the part of that spent waiting for a worker
  Microseconds cpu{};           // of the program and the children it waited for, user and system
  std::uint64_t peak_kib = 0;   // the process's peak resident memory; 0: not known
  std::uint64_t bytes_in = 0;   // of the body
  std::uint64_t bytes_out = 0;  // that the program printed to its standard output
};

// Owned by its program's Comparison.
class Figures {
 public:
  void add(const Observation& observation, base::TimePoint now);

  std::uint64_t requests() const { return latency_.count(); }
  std::uint64_t failed(Failure failure) const { return failures_[std::size_t(failure)]; }
  std::uint64_t errors() const;  // all for which is_error()
  // Answers with status 100 * status_class to 100 * status_class + 99; class 0: without a status.
  std::uint64_t status_class(unsigned status_class) const {
    return status_class < kStatusClasses ? classes_[status_class] : 0;
  }
  const Histogram& latency() const { return latency_; }  // microseconds, all three
  const Histogram& queue() const { return queue_; }
  const Histogram& cpu() const { return cpu_; }
  std::uint64_t peak_kib() const { return peak_kib_; }  // the maximum
  std::uint64_t bytes_in() const { return bytes_in_; }
  std::uint64_t bytes_out() const { return bytes_out_; }

  // The latencies of the last kWindow to 2 * kWindow before now, and how long that time was: never
  // less than kWindow, because the time before a program's first request counts as empty.
  static constexpr std::chrono::seconds kWindow{5};
  struct Recent {
    Histogram latency;
    std::chrono::milliseconds span{};
  };
  Recent recent(base::TimePoint now) const;

 private:
  static constexpr std::size_t kStatusClasses = 6;
  void turn_window(base::TimePoint now);

  std::array<std::uint64_t, kFailures> failures_{};
  std::array<std::uint64_t, kStatusClasses> classes_{};
  Histogram latency_, queue_, cpu_;
  std::uint64_t peak_kib_ = 0, bytes_in_ = 0, bytes_out_ = 0;
  Histogram window_, window_before_;  // since window_since_, and the kWindow before that
  base::TimePoint window_since_{};
};

}  // namespace compare
