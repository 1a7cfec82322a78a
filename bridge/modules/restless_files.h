// Files that a program reads or looks at while it loads, and that nearly each request changes, such
// as a counter: whatever looks at them must be left to the requests, or nothing ever stays warm.
#pragma once

#include <string>
#include <vector>

#include "modules/loaded_files.h"

namespace modules {

// A file is restless if it has ended kStreak generations in a row that had been of no use: younger
// than ChangeDamper::kCalm, or with kFewRequests at most. When none of the restless files has
// changed for a minute, they may be looked at before the checkpoint again. If one then ends two
// generations like that, it is restless again, and the next try comes after twice as long, up to
// kLongestCalm.
class RestlessFiles {
 public:
  static constexpr unsigned kStreak = 4;
  static constexpr unsigned kStreakAgain = 2;
  static constexpr unsigned kFewRequests = 3;
  static constexpr std::size_t kMost = 4;  // kRestlessMax of the checkpoint library
  static constexpr std::chrono::minutes kFirstCalm{1};
  static constexpr std::chrono::minutes kLongestCalm{32};

  explicit RestlessFiles(const loop::Clock& clock) : clock_(&clock), watch_(clock) {}

  // A change of path has ended a generation after this lifetime and this many requests. Returns
  // whether the file is restless from now on.
  bool note_change(const std::string& path, base::Duration lived, std::uint64_t requests);
  // Whether none of them has changed for long enough. Checks the files now and then.
  bool are_calm();
  // They may be looked at before the checkpoint again.
  void let_go();
  // The program has been replaced.
  void forget() { *this = RestlessFiles(*clock_); }

  const std::vector<std::string>& paths() const { return paths_; }
  // For how long none of them may change.
  base::Duration pause() const { return pause_; }

 private:
  void watch_anew();

  const loop::Clock* clock_;
  LoadedFiles watch_;  // of paths_
  std::vector<std::string> paths_, former_;
  std::string last_;     // the file that ended the last generation
  unsigned streak_ = 0;  // how many useless ones it has ended in a row
  base::Duration pause_{0};
  base::TimePoint calm_since_{};
};

}  // namespace modules
