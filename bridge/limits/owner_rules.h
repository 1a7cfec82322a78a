// suEXEC's conditions: whether a program may run as the user whom its file belongs to. Pure: what
// stat() said goes in.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace limits {

// What stat() says of a program, or of a folder above it.
struct FileFacts {
  std::string path;
  ::uid_t owner = 0;
  ::mode_t mode = 0;
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

// The same of the group that its owner is in.
std::optional<std::string> why_not_in_group(::gid_t gid, const OwnerFloors& floors);

}  // namespace limits
