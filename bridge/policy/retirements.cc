#include "policy/retirements.h"

#include <fmt/format.h>

#include <algorithm>

namespace policy {
namespace {

constexpr std::array<std::string_view, kRetirementKinds> kNames = {
    "no reason",   "threads",  "children",     "identity", "process_group", "limits",
    "descriptors", "mappings", "call",         "verify",   "fault",         "left",
    "silent",      "executed", "max_requests", "max_age",  "max_memory",    "anew"};
static_assert(!kNames.back().empty(), "one name for each");

}  // namespace

std::string_view retirement_name(std::uint32_t retirement) {
  return kNames[retirement];
}

void Retirements::count_stay() {
  lately_.note(RecentShare::Was::no);
}

bool Retirements::count(std::uint32_t retirement, const std::string& why) {
  counts_[retirement] += 1;
  of_generation_[retirement] += 1;
  last_why_[retirement] = why;
  if (retirement < kRetiredMaxRequests) lately_.note(RecentShare::Was::yes);
  return of_generation_[retirement] == 1;
}

std::string Retirements::describe() const {
  const auto* const most =
      std::max_element(of_generation_.begin(), of_generation_.begin() + kRetiredMaxRequests);
  const auto reason = static_cast<std::uint32_t>(most - of_generation_.begin());
  const std::string& why = last_why_[reason];
  return fmt::format(
      "{} of the last {} requests left a worker that cannot be put back: mostly {}{}",
      lately_.count(), kWindow, retirement_name(reason), why.empty() ? "" : " (" + why + ")");
}

void Retirements::start_anew() {
  of_generation_ = {};
  lately_ = {};
}

}  // namespace policy
