// Where a path leads, and by which links: what the kernel does with it, a step at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace router {

// A symlink that stands on a path.
struct LinkOnPath {
  std::string path;  // absolute: without links but itself
  ::dev_t device = 0;
  ::ino_t inode = 0;
  std::int64_t changed_ns = 0;  // its ctime: a link is never edited, but made anew
  ::uid_t owner = 0;

  bool operator==(const LinkOnPath&) const = default;
};

struct PathWalk {
  std::string real;               // absolute, without links
  std::vector<LinkOnPath> links;  // in the order in which they were followed
  int error_number = 0;           // then the walk ended before its end: why, and real is the place
};

// path: absolute, without "." and "..". Blocking calls: one for each name on the way.
PathWalk walk_path(const std::string& path);

// What stands at a link's path now; all zero if there is no link.
LinkOnPath look_at_link(const std::string& path);

// Whether only these users can put something else in the place of what stands at path (absolute,
// without links but perhaps itself): it is theirs, and so are all folders above it, which nobody
// else can write to, unless they are sticky.
bool only_changed_by(const std::string& path, std::span<const ::uid_t> users);

}  // namespace router
