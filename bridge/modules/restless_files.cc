#include "modules/restless_files.h"

#include <algorithm>
#include <utility>

namespace modules {

bool RestlessFiles::note_change(const std::string& path, base::Duration lived,
                                std::uint64_t requests) {
  const auto is_in = [&](const std::vector<std::string>& list) {
    return std::ranges::find(list, path) != list.end();
  };
  const bool was_of_use = lived >= ChangeDamper::kCalm && requests > kFewRequests;
  const bool is_same = std::exchange(last_, path) == path;
  streak_ = was_of_use ? 0 : is_same ? streak_ + 1 : 1;
  if (streak_ < (is_in(former_) ? kStreakAgain : kStreak)) return false;
  if (is_in(paths_) || paths_.size() >= kMost) return false;
  pause_ = std::clamp<base::Duration>(2 * pause_, kFirstCalm, kLongestCalm);
  paths_.push_back(path);
  watch_anew();
  return true;
}

bool RestlessFiles::are_calm() {
  if (paths_.empty()) return false;
  if (!watch_.changed().empty()) watch_anew();
  return clock_->now() >= calm_since_ + pause_;
}

void RestlessFiles::let_go() {
  former_ = std::exchange(paths_, {});
  streak_ = 0;
}

void RestlessFiles::watch_anew() {
  calm_since_ = clock_->now();
  watch_ = LoadedFiles(*clock_);
  for (const std::string& path : paths_) watch_.add(path);
}

}  // namespace modules
