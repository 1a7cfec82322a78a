// What the rewinds of a program's workers cost, and whether they were correct.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace policy {

// The values below which half of all values, and 99 of 100, are.
struct Percentiles {
  std::uint32_t p50 = 0;
  std::uint32_t p99 = 0;
};

// Keeps the figures of the last kKept rewinds.
class RewindRecord {
 public:
  static constexpr std::size_t kKept = 1024;

  // tracking: enum page_tracking.
  void add(std::uint32_t tracking, std::uint32_t pages, std::uint32_t microseconds);
  void count_verified() { verified_ += 1; }
  void count_difference() { differences_ += 1; }

  std::uint64_t rewinds() const { return rewinds_; }
  std::uint64_t verified() const { return verified_; }        // compared, equal or not
  std::uint64_t differences() const { return differences_; }  // of these, not equal
  std::uint32_t tracking() const { return tracking_; }        // of the last one; 0: none yet
  Percentiles pages() const;
  Percentiles microseconds() const;

  // How long a rewind has recently taken, plus a margin for one that takes a little longer.
  std::chrono::microseconds usual_time() const;

 private:
  struct Figures {
    std::uint32_t pages;
    std::uint32_t microseconds;
  };
  using Figure = std::uint32_t Figures::*;
  Percentiles percentiles(Figure figure) const;

  std::uint64_t rewinds_ = 0;
  std::uint64_t verified_ = 0;
  std::uint64_t differences_ = 0;
  std::uint32_t tracking_ = 0;
  std::uint32_t smooth_sixteenths_ = 0;  // of a microsecond: a moving mean, in 16 steps
  std::vector<Figures> kept_;            // a ring once it is full
};

}  // namespace policy
