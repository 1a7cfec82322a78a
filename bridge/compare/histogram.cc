#include "compare/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace compare {
namespace {

constexpr unsigned kSubBits = 6;  // 2^6 buckets for each power of two
constexpr std::uint64_t kSub = 1u << kSubBits;
constexpr std::uint64_t kMost = (std::uint64_t(1) << 40) - 1;

// How many low bits of value are lost in its bucket.
unsigned shift_of(std::uint64_t value) {
  return value < 2 * kSub ? 0 : unsigned(std::bit_width(value)) - 1 - kSubBits;
}

std::size_t index_of(std::uint64_t value) {
  unsigned shift = shift_of(value);
  return std::size_t(shift * kSub + (value >> shift));
}

// The value in the middle of a bucket: at most 1/128 away from every value counted in it.
std::uint64_t middle_of(std::size_t index) {
  if (index < 2 * kSub) return index;
  unsigned shift = unsigned(index / kSub) - 1;
  std::uint64_t lowest = (index - shift * kSub) << shift;
  return lowest + (std::uint64_t(1) << shift) / 2;
}

}  // namespace

void Histogram::add(std::uint64_t value) {
  value = std::min(value, kMost);
  std::size_t index = index_of(value);
  if (index >= buckets_.size()) buckets_.resize(index + 1);
  ++buckets_[index];
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() {
  *this = Histogram();
}

std::uint64_t Histogram::quantile(double q) const {
  if (count_ == 0) return 0;
  // A product like 0.07 * 100, which comes out a little too large, must not give the next rank.
  double exact = std::clamp(q, 0.0, 1.0) * double(count_) * (1 - 1e-12);
  std::uint64_t rank = std::max<std::uint64_t>(1, std::uint64_t(std::ceil(exact)));
  if (rank >= count_) return max_;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(middle_of(i), max_);
  }
  return max_;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : double(sum_) / double(count_);
}

std::uint64_t Histogram::count_up_to(std::uint64_t bound) const {
  std::size_t end = std::min(index_of(std::min(bound, kMost)) + 1, buckets_.size());
  std::uint64_t counted = 0;
  for (std::size_t i = 0; i < end; ++i) counted += buckets_[i];
  return counted;
}

}  // namespace compare
