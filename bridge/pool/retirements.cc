#include "pool/retirements.h"

#include <fmt/format.h>

#include <algorithm>

namespace pool {
namespace {

constexpr std::array<std::string_view, kRetirementKinds> kNames = {
    "no reason", "threads",     "children",     "identity", "process_group",
    "limits",    "descriptors", "mappings",     "call",     "verify",
    "fault",     "left",        "max_requests", "max_age",  "max_memory"};
static_assert(!kNames.back().empty(), "one name for each");

}  // namespace

std::string_view retirement_name(std::uint32_t retirement) {
  return kNames[retirement];
}

void Retirements::remember(Outcome outcome) {
  const bool retired = outcome == Outcome::retired;
  retired_in_window_ -= window_[next_] ? 1 : 0;
  retired_in_window_ += retired ? 1 : 0;
  window_[next_] = retired;
  next_ = (next_ + 1) % kWindow;
  seen_ = std::min(seen_ + 1, kWindow);
}

void Retirements::count_stay() {
  remember(Outcome::stayed);
}

bool Retirements::count(std::uint32_t retirement, const std::string& why) {
  counts_[retirement] += 1;
  of_generation_[retirement] += 1;
  last_why_[retirement] = why;
  if (retirement < kRetiredMaxRequests) remember(Outcome::retired);
  return of_generation_[retirement] == 1;
}

bool Retirements::more_than(unsigned per_cent) const {
  return seen_ == kWindow && retired_in_window_ * 100 > per_cent * kWindow;
}

std::string Retirements::describe() const {
  const auto* const most =
      std::max_element(of_generation_.begin(), of_generation_.begin() + kRetiredMaxRequests);
  const auto reason = static_cast<std::uint32_t>(most - of_generation_.begin());
  const std::string& why = last_why_[reason];
  return fmt::format(
      "{} of the last {} requests left a worker that cannot be put back: mostly {}{}",
      retired_in_window_, kWindow, retirement_name(reason), why.empty() ? "" : " (" + why + ")");
}

void Retirements::start_anew() {
  of_generation_ = {};
  window_.reset();
  next_ = seen_ = retired_in_window_ = 0;
}

}  // namespace pool
