// Who may change a file: suEXEC's conditions for running a program as its file's owner, and whether
// a user can change a file. Works on what stat() returned.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "limits/identity.h"

namespace limits {

// What stat() says about a program, or about a folder above it.
struct FileFacts {
  std::string path;
  ::uid_t owner = 0;
  ::mode_t mode = 0;
  ::gid_t group = 0;
  bool has_access_list = false;  // acl(5): the group part of mode is then the most that it grants
};

// The lowest ids of owners whose programs may run: below are root and the system's own users.
struct OwnerFloors {
  unsigned uid_min = 1000;
  unsigned gid_min = 100;
};

// Why a program must not run as its owner; nullopt: it may. files: the program, the folder that it
// is in, the folder above that, and so on up to "/".
//
// Whoever can write to the program, or put another file in its place, can do what its owner can. So
// only the owner may: the program and its folder belong to the owner and are writable only by the
// owner; the folders above belong to the owner or root, and are writable by no others, except
// sticky ones, where others can move only what is theirs.
std::optional<std::string> why_not_as_owner(const std::vector<FileFacts>& files,
                                            const OwnerFloors& floors);

// The same for a link on the program's path, so that nobody else chooses which of the owner's
// programs it leads to. files: the link, the folder that it is in, and so on. named: the link by
// which the program is called, which must meet the program's conditions; any other link may belong
// to root as well, and so may its folder.
enum class LinkUse { named, on_the_way };
std::optional<std::string> why_not_by_link(const std::vector<FileFacts>& files, ::uid_t owner,
                                           LinkUse use);

// The same for the group of the owner.
std::optional<std::string> why_not_in_group(::gid_t gid, const OwnerFloors& floors);

// Why user may change the first path in files: the user may write to it, or to a folder above it,
// or may grant itself the right to, as the owner. nullopt: it may not. An access list that lets a
// group write is assumed to name the user. root may do everything, so for root this checks whether
// somebody else may write.
std::optional<std::string> why_changeable(const std::vector<FileFacts>& files,
                                          const Identity& user);

// What lstat() says about path (absolute, and free of links except perhaps at its end) and about
// every folder above it, up to "/". An error: one of them does not exist, or something that should
// be a folder is not one.
base::Result<std::vector<FileFacts>> facts_of(std::string path);

}  // namespace limits
