#include "compare/figures.h"

#include <algorithm>

namespace compare {
namespace {

std::uint64_t in_us(Microseconds duration) {
  return std::uint64_t(std::max<std::int64_t>(0, duration.count()));
}

}  // namespace

void Figures::add(const Observation& observation, base::TimePoint now) {
  ++failures_[std::size_t(observation.failure)];
  int status_class = observation.status / 100;
  ++classes_[status_class >= 1 && status_class < int(kStatusClasses) ? std::size_t(status_class)
                                                                     : 0];
  latency_.add(in_us(observation.latency));
  queue_.add(in_us(observation.queue));
  cpu_.add(in_us(observation.cpu));
  peak_kib_ = std::max(peak_kib_, observation.peak_kib);
  bytes_in_ += observation.bytes_in;
  bytes_out_ += observation.bytes_out;
  turn_window(now);
  window_.add(in_us(observation.latency));
}

std::uint64_t Figures::errors() const {
  std::uint64_t errors = 0;
  for (std::size_t i = 0; i < kFailures; ++i) {
    if (is_error(Failure(i))) errors += failures_[i];
  }
  return errors;
}

// Windows follow each other without a gap; one without any request is empty.
void Figures::turn_window(base::TimePoint now) {
  base::Clock::duration age = now - window_since_;
  if (age < kWindow) return;
  if (age < 2 * kWindow) {
    std::swap(window_before_, window_);
    window_since_ += kWindow;
  } else {
    window_before_.clear();
    window_since_ = now;
  }
  window_.clear();
}

Figures::Recent Figures::recent(base::TimePoint now) const {
  using std::chrono::milliseconds;
  base::Clock::duration age = now - window_since_;
  if (age >= 2 * kWindow) return {Histogram(), kWindow};
  Recent recent{window_, std::chrono::duration_cast<milliseconds>(age)};
  if (age < kWindow) {
    recent.latency.merge(window_before_);
    recent.span += kWindow;
  }
  return recent;
}

}  // namespace compare
