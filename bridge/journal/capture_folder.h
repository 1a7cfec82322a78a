// The folder that captures are kept in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace journal {

// The newest captures, no more than so many and so large together. Files of other names are left
// alone.
class CaptureFolder {
 public:
  struct Limits {
    std::size_t files;
    std::uint64_t bytes;
  };

  // Makes the folder for its owner alone if it is not there. Refuses one that others may write to,
  // or that is a symlink. Empty: none is used.
  base::Status use(const std::string& folder);
  bool is_used() const { return !folder_.empty(); }

  // Writes a new file, readable by its owner alone, and removes the oldest beyond the limits first.
  // It has its name once it is whole.
  // label: what the file's name tells of it. Refuses what is larger than all may be together.
  base::Result<std::string> add(std::string_view text, std::string_view label, std::int64_t unix_ms,
                                const Limits& limits);

 private:
  void make_room(std::uint64_t bytes, const Limits& limits);

  std::string folder_;
  std::uint64_t number_ = 0;  // tells captures of one millisecond apart
};

}  // namespace journal
