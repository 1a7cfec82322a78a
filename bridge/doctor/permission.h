// Whether a user may use a file, and what on a path prevents it: the rules of path_resolution(7)
// and acl(5). Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace doctor {

// A user as the kernel sees one of their processes.
struct Who {
  std::string name;  // "www-data"; its number, if it has none
  ::uid_t uid = 0;
  ::gid_t gid = 0;
  std::vector<::gid_t> groups = {};  // supplementary

  bool is_in(::gid_t group) const;
};

// One line of an access control list.
struct AclEntry {
  enum class Tag : std::uint16_t {
    owner = 1,
    user = 2,
    owning_group = 4,
    group = 8,
    mask = 16,
    others = 32
  };
  Tag tag = Tag::others;
  unsigned allowed = 0;
  std::uint32_t id = 0;  // of a user or a group
};

// A file, a folder or a socket.
struct FileRights {
  std::string path;
  ::mode_t mode = 0;
  ::uid_t owner = 0;
  ::gid_t group = 0;
  std::string owner_name = {}, group_name = {};
  std::vector<AclEntry> acl = {};  // empty: the mode alone counts
};

// Bits, as in a mode.
constexpr unsigned kExecute = 1, kWrite = 2, kRead = 4;

bool may(const Who& who, const FileRights& file, unsigned wanted);

// "/run/cgibridge (drwxr-x--- root:root)"
std::string described(const FileRights& file);

// The value of the extended attribute system.posix_acl_access; empty if it is not one.
std::vector<AclEntry> parse_acl(base::ByteView value);

// What is on a path: the folders from "/" on, and what it leads to.
struct PathRights {
  std::vector<FileRights> folders;
  FileRights last;
  std::string unseen;  // where it could not be followed, and why; then what follows is missing

  bool seen() const { return unseen.empty(); }
};

// Why that user may not use what the path leads to; empty: nothing that could be seen forbids it.
std::string why_not(const Who& who, const PathRights& path, unsigned wanted);

}  // namespace doctor
