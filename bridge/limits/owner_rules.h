// Who may change a file: suEXEC's conditions, under which a program runs as the user whom its file
// belongs to, and whether a user can change another. What stat() said goes in.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "limits/identity.h"

namespace limits {

// What stat() says of a program, or of a folder above it.
struct FileFacts {
  std::string path;
  ::uid_t owner = 0;
  ::mode_t mode = 0;
  ::gid_t group = 0;
  bool has_access_list = false;  // acl(5): mode's group part is the most that it grants
};

// Nobody below these is an owner whose programs run: root, and the system's own users.
struct OwnerFloors {
  unsigned uid_min = 1000;
  unsigned gid_min = 100;
};

// Why a program must not run as its owner; nullopt: it may. files: the program, the folder that it
// is in, the folder above that, and so on up to "/".
//
// Whoever can write to the program, or put another one in its place, can do what its owner can. So
// nobody but the owner may: the program and its folder are his and writable by him alone; the
// folders above are his or root's, and writable by no others, but for those that are sticky, where
// others can move nothing that is not theirs.
std::optional<std::string> why_not_as_owner(const std::vector<FileFacts>& files,
                                            const OwnerFloors& floors);

// The same of a link on the program's path, so that nobody else chooses which of the owner's
// programs it leads to: files is the link, the folder that it is in, and so on. named: it is the
// link by which the program is called, which is held to what the program is held to; any other may
// be root's as well, and so may its folder.
enum class LinkUse { named, on_the_way };
std::optional<std::string> why_not_by_link(const std::vector<FileFacts>& files, ::uid_t owner,
                                           LinkUse use);

// The same of the group that its owner is in.
std::optional<std::string> why_not_in_group(::gid_t gid, const OwnerFloors& floors);

// Why user may change what stands at files' first path: he may write to it, or to a folder above
// it, or may take himself the right to, as their owner. nullopt: he may not. An access list that
// lets a group write is taken for one that names him. root may everything, so of him it is asked
// whether somebody else may.
std::optional<std::string> why_changeable(const std::vector<FileFacts>& files,
                                          const Identity& user);

// What lstat() says of path, an absolute one without links but perhaps itself, and of every folder
// above it, up to "/". An error: one of them is not there, or what ought to be a folder is none.
base::Result<std::vector<FileFacts>> facts_of(std::string path);

}  // namespace limits
