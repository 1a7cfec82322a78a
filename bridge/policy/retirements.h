// How many workers could not stay for another request, by reason and recently.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "policy/recent_peak.h"
#include "worker/worker.h"

namespace policy {

// In addition to enum retirement and worker::kRetiredLeft: its request ended without any output,
// which may be the worker's own fault, so that it might fail again at the next one.
constexpr std::uint32_t kRetiredSilent = worker::kRetiredLeft + 1;
// It became another program during its request, by exec().
constexpr std::uint32_t kRetiredExecuted = kRetiredSilent + 1;
// It had served workers.max_requests, was as old as workers.max_age or as large as
// workers.max_memory. These do not speak against the program.
constexpr std::uint32_t kRetiredMaxRequests = kRetiredExecuted + 1;
constexpr std::uint32_t kRetiredMaxAge = kRetiredMaxRequests + 1;
constexpr std::uint32_t kRetiredMaxMemory = kRetiredMaxAge + 1;
// Its request was started again, which speaks against the level, but not against the reset.
constexpr std::uint32_t kRetiredAnew = kRetiredMaxMemory + 1;
constexpr std::size_t kRetirementKinds = kRetiredAnew + 1;

// The word for a reason in the log and in `status`.
std::string_view retirement_name(std::uint32_t retirement);

class Retirements {
 public:
  // How many of the last requests count.
  static constexpr std::size_t kWindow = RecentShare::kWindow;

  // A request's worker stays.
  void count_stay();
  // It does not stay. Returns whether this is the first for that reason since start_anew().
  bool count(std::uint32_t retirement, const std::string& why);

  // Whether more than per_cent of the last requests left a worker that cannot stay; false as long
  // as there have been fewer than kWindow requests.
  bool more_than(unsigned per_cent) const { return lately_.more_than(per_cent); }
  unsigned per_cent() const { return lately_.per_cent(); }
  // "30 of the last 50 requests ...: mostly threads (2 threads)".
  std::string describe() const;

  // A new generation begins, and recent requests say nothing about it. The totals go on.
  void start_anew();

  std::uint64_t counted(std::uint32_t retirement) const { return counts_[retirement]; }
  // What the last worker counted for that reason said; empty: nothing.
  const std::string& last_why(std::uint32_t retirement) const { return last_why_[retirement]; }

 private:
  std::array<std::uint64_t, kRetirementKinds> counts_{};
  std::array<std::uint64_t, kRetirementKinds> of_generation_{};
  std::array<std::string, kRetirementKinds> last_why_;
  RecentShare lately_;
};

}  // namespace policy
