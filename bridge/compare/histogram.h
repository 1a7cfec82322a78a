// Quantiles of many durations or sizes in little memory.
#pragma once

#include <cstdint>
#include <vector>

#include "compare/namespace.h"

namespace compare {

// Counts values in buckets whose width is 1/64 of the power of two that they are in (the layout of
// HdrHistogram), so quantile() differs from the true value by less than 1 %. Values range from 0 to
// 2^40-1; greater ones count as that. Memory reaches up to the bucket of the greatest value: none
// at first, 8 KiB for a million (a second in microseconds), at most 18 KiB.
class Histogram {
 public:
  void add(std::uint64_t value);
  // Adds everything that other has counted.
  void merge(const Histogram& other);
  void clear();

  // The value that a share q (0 to 1) of all values does not exceed; 0 if there are no values.
  std::uint64_t quantile(double q) const;

  std::uint64_t count() const { return count_; }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t max() const { return max_; }  // exact
  double mean() const;
  // How many values were at most bound, with the precision of a bucket: for OpenMetrics' `le`.
  std::uint64_t count_up_to(std::uint64_t bound) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0, sum_ = 0, max_ = 0;
};

}  // namespace compare
