// The folder where captures are kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace journal {

// Keeps the newest captures within a total number and size. Files with other names are left alone.
class CaptureFolder {
 public:
  struct Limits {
    std::size_t files;
    std::uint64_t bytes;
  };

  // Creates the folder, accessible only to its owner, if it does not exist. Refuses one that others
  // may write to, or that is a symlink. Empty: no folder is used.
  base::Status use(const std::string& folder);
  bool is_used() const { return !folder_.empty(); }

  // Writes a new file, readable only by its owner, after removing the oldest ones beyond the
  // limits. The file gets its name once it is complete.
  // label: becomes part of the file's name. Refuses a text that is larger than all captures may be
  // together.
  base::Result<std::string> add(std::string_view text, std::string_view label, std::int64_t unix_ms,
                                const Limits& limits);

 private:
  void make_room(std::uint64_t bytes, const Limits& limits);

  std::string folder_;
  std::uint64_t number_ = 0;  // distinguishes captures made within one millisecond
};

}  // namespace journal
