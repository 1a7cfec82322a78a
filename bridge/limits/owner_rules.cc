#include "limits/owner_rules.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/assert.h"

namespace limits {
namespace {

constexpr ::mode_t kOthersWrite = S_IWGRP | S_IWOTH;

std::string writable(const FileFacts& file) {
  return fmt::format("{} can be written to by {}", file.path,
                     (file.mode & S_IWOTH) != 0 ? "everybody" : "its group");
}

std::optional<std::string> refuse_program(const FileFacts& program, const OwnerFloors& floors) {
  if (!S_ISREG(program.mode)) return program.path + " is no regular file";
  if ((program.mode & (S_ISUID | S_ISGID)) != 0) return program.path + " is setuid or setgid";
  if (program.owner == 0) return program.path + " belongs to root";
  if (program.owner < floors.uid_min) {
    return fmt::format("{} belongs to uid {}, which is below bridge.owner.uid_min ({})",
                       program.path, program.owner, floors.uid_min);
  }
  if ((program.mode & kOthersWrite) != 0) return writable(program);
  return std::nullopt;
}

std::optional<std::string> refuse_folder(const FileFacts& folder, ::uid_t owner) {
  if (folder.owner != owner) {
    return fmt::format("the program's folder {} belongs to uid {} and not to its owner, uid {}",
                       folder.path, folder.owner, owner);
  }
  if ((folder.mode & kOthersWrite) != 0) return writable(folder);
  return std::nullopt;
}

std::optional<std::string> refuse_upper_folder(const FileFacts& folder, ::uid_t owner) {
  if (folder.owner != owner && folder.owner != 0) {
    return fmt::format("{} belongs to uid {}, neither root nor the program's owner", folder.path,
                       folder.owner);
  }
  if ((folder.mode & kOthersWrite) != 0 && (folder.mode & S_ISVTX) == 0) return writable(folder);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_as_owner(const std::vector<FileFacts>& files,
                                            const OwnerFloors& floors) {
  BRIDGE_ASSERT(files.size() >= 2);
  if (auto why = refuse_program(files[0], floors)) return why;
  const ::uid_t owner = files[0].owner;
  if (auto why = refuse_folder(files[1], owner)) return why;
  for (std::size_t i = 2; i < files.size(); ++i) {
    if (auto why = refuse_upper_folder(files[i], owner)) return why;
  }
  return std::nullopt;
}

std::optional<std::string> why_not_in_group(::gid_t gid, const OwnerFloors& floors) {
  if (gid >= floors.gid_min && gid != 0) return std::nullopt;
  return fmt::format("its owner's group {} is below bridge.owner.gid_min ({})", gid,
                     floors.gid_min);
}

}  // namespace limits
