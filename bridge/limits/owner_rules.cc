#include "limits/owner_rules.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

bool has_access_list(const std::string& path) {
  return ::lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool is_in_group(const Identity& user, ::gid_t group) {
  return user.gid == group ||
         std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

// Who besides the owner may write, as far as that concerns user; "": nobody.
std::string_view others_who_write(const FileFacts& file, const Identity& user) {
  if (S_ISLNK(file.mode)) return "";  // its mode says nothing
  if ((file.mode & S_IWOTH) != 0) return "everybody";
  if ((file.mode & S_IWGRP) == 0) return "";
  if (user.uid == 0) return file.group == 0 && !file.has_access_list ? "" : "its group";
  if (is_in_group(user, file.group)) return "a group of his";
  return file.has_access_list ? "those in its access list" : "";
}

// In a sticky folder, only the owner of a file can move it.
bool keeps_what_it_holds(const FileFacts& folder) {
  return S_ISDIR(folder.mode) && (folder.mode & S_ISVTX) != 0;
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

std::optional<std::string> why_not_by_link(const std::vector<FileFacts>& files, ::uid_t owner,
                                           LinkUse use) {
  BRIDGE_ASSERT(files.size() >= 2);
  const bool may_be_roots = use == LinkUse::on_the_way;
  if (files[0].owner != owner && !(may_be_roots && files[0].owner == 0)) {
    return fmt::format("the link {} belongs to uid {} and not to the program's owner, uid {}",
                       files[0].path, files[0].owner, owner);
  }
  for (std::size_t i = 1; i < files.size(); ++i) {
    const bool as_programs = i == 1 && use == LinkUse::named;
    auto why = as_programs ? refuse_folder(files[i], owner) : refuse_upper_folder(files[i], owner);
    if (why) return why;
  }
  return std::nullopt;
}

std::optional<std::string> why_not_in_group(::gid_t gid, const OwnerFloors& floors) {
  if (gid >= floors.gid_min && gid != 0) return std::nullopt;
  return fmt::format("its owner's group {} is below bridge.owner.gid_min ({})", gid,
                     floors.gid_min);
}

base::Result<std::vector<FileFacts>> facts_of(std::string path) {
  std::vector<FileFacts> facts;
  for (;;) {
    struct stat status = {};
    if (::lstat(path.c_str(), &status) != 0) {
      return base::Error{path + ": " + std::strerror(errno)};
    }
    if (!facts.empty() && !S_ISDIR(status.st_mode)) {
      return base::Error{path + ": is no folder any more"};
    }
    facts.push_back({path, status.st_uid, status.st_mode, status.st_gid, has_access_list(path)});
    if (path == "/") return facts;
    const std::size_t slash = path.rfind('/');
    path.resize(slash == 0 ? 1 : slash);
  }
}

std::optional<std::string> why_changeable(const std::vector<FileFacts>& files,
                                          const Identity& user) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileFacts& file = files[i];
    if (user.uid != 0 && file.owner == user.uid) {
      return fmt::format("{} belongs to {}", file.path, user.name);
    }
    const std::string_view who = others_who_write(file, user);
    if (who.empty() || (i > 0 && keeps_what_it_holds(file))) continue;
    return fmt::format("{} can be written to by {}", file.path, who);
  }
  return std::nullopt;
}

}  // namespace limits
