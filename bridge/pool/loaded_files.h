// The files that a zygote loaded on its way to its checkpoint, and whether they are still the same.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "router/resolver.h"

namespace pool {

// A module that was edited must not answer from a zygote that compiled the old one. Files are
// looked at again by stat(), all of them at most every kCheckInterval: within it a changed module
// may serve once more, as a request that began before the change would.
class LoadedFiles {
 public:
  static constexpr std::chrono::milliseconds kCheckInterval{500};
  static constexpr std::size_t kFilesMax = 2000;

  // paths: one a line. Those that are not absolute, or more than kFilesMax, are passed over.
  void add(std::string_view paths);

  // The path of a file that has changed since it was added, or "". Looks at most once in
  // kCheckInterval.
  std::string changed(base::TimePoint now);

 private:
  std::unordered_map<std::string, router::FileIdentity> files_;
  base::TimePoint checked_{};
};

}  // namespace pool
