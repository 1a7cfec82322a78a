// What resetting a worker costs compared with forking one for each request, as measured here.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace policy {

// The median of the last few times, which one slow moment of the machine does not change.
class RecentMedian {
 public:
  static constexpr std::size_t kKept = 15;

  void add(std::chrono::microseconds time);
  // 0: none was added.
  std::chrono::microseconds value() const;

 private:
  std::array<std::chrono::microseconds, kKept> kept_{};
  std::size_t added_ = 0;
};

// A worker that cannot be reset costs the start of another one; any other worker costs its rewind.
// With reset = fork each request costs the start of a worker. So as long as rewinds cost less than
// starts, rewinding pays, even if many requests end their workers, unless nearly all do.
// Retirements alone do not speak against it: one visitor may have caused them all.
struct ResetCosts {
  unsigned retired_per_cent = 0;       // of the last requests
  std::chrono::microseconds rewind{};  // of a worker that stays
  std::chrono::microseconds start{};   // of one that can be reset, from its fork to its READY
  std::chrono::microseconds forked{};  // of one for a single request; 0: not known, start is used

  // The average cost of a request.
  std::chrono::microseconds rewinding() const;
  std::chrono::microseconds forking() const { return forked.count() > 0 ? forked : start; }
  bool rewinding_pays() const { return rewinding() < forking(); }
  // "a request costs 900 us to put back or replace its worker, and 800 us to fork one".
  std::string describe() const;
};

}  // namespace policy
