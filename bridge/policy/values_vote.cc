#include "policy/values_vote.h"

#include <functional>

namespace policy {

bool ValuesVote::count_other(std::string_view values, base::TimePoint now) {
  const std::size_t key = std::hash<std::string_view>()(values);
  const auto known = others_.find(key);
  if (known == others_.end() && others_.size() >= kCandidatesMax) {
    unsigned nobodys = 0;
    count(nobodys);
    return false;
  }
  unsigned& votes = others_[key];
  count(votes);
  const auto left = others_.find(key);
  const unsigned theirs = left == others_.end() ? 0 : left->second;
  return theirs >= kLeast && theirs > 2 * own_ && now >= not_before_;
}

void ValuesVote::count(unsigned& votes) {
  ++votes;
  if (++counted_ < kMemory) return;
  counted_ = 0;
  own_ /= 2;
  for (auto& [key, theirs] : others_) theirs /= 2;
  std::erase_if(others_, [](const auto& candidate) { return candidate.second == 0; });
}

void ValuesVote::start_anew(base::TimePoint now) {
  own_ = 0;
  counted_ = 0;
  others_.clear();
  not_before_ = now + kPause;
}

}  // namespace policy
