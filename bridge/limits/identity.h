// The user and groups that a program runs as.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace limits {

// All ids that a process takes on: real, effective, saved, and supplementary groups.
struct Identity {
  std::string name;  // the user's name, for messages; its number if it has none
  ::uid_t uid = 0;
  ::gid_t gid = 0;
  std::vector<::gid_t> groups;  // supplementary, sorted; gid may be among them

  bool operator==(const Identity&) const = default;
};

}  // namespace limits
