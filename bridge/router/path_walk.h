// Where a path leads, and through which links: what the kernel does with it, one step at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace router {

// A symlink on a path.
struct LinkOnPath {
  std::string path;  // absolute: without links except itself
  ::dev_t device = 0;
  ::ino_t inode = 0;
  std::int64_t changed_ns = 0;  // its ctime: a link is never edited, only remade
  ::uid_t owner = 0;

  bool operator==(const LinkOnPath&) const = default;
};

struct PathWalk {
  std::string real;               // absolute, without links
  std::vector<LinkOnPath> links;  // in the order in which they were followed
  int error_number = 0;           // not 0: why the walk stopped early; real is the place
};

// path: absolute, without "." and "..". Blocking calls: one for each name on the path.
PathWalk walk_path(const std::string& path);

// What is at a link's path now; all zero if there is no link.
LinkOnPath look_at_link(const std::string& path);

// Whether only these users can replace what is at path (absolute, without links except perhaps
// itself): it belongs to them, and so do all folders above it, and nobody else can write to those
// folders unless they are sticky.
bool only_changed_by(const std::string& path, std::span<const ::uid_t> users);

}  // namespace router
