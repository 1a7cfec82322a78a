#include "doctor/permission.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

namespace doctor {
namespace {

constexpr unsigned kAll = kRead | kWrite | kExecute;
constexpr std::uint32_t kAclVersion = 2;
constexpr std::size_t kAclHeadBytes = 4, kAclEntryBytes = 8;

using Tag = AclEntry::Tag;

std::uint32_t little_endian(base::ByteView bytes, std::size_t at, std::size_t count) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    number |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return number;
}

const AclEntry* find(const std::vector<AclEntry>& acl, Tag tag) {
  const auto found = std::ranges::find(acl, tag, &AclEntry::tag);
  return found == acl.end() ? nullptr : &*found;
}

// acl(5), "access check algorithm", for somebody who is not the owner.
bool acl_allows(const Who& who, const FileRights& file, unsigned wanted) {
  const AclEntry* mask = find(file.acl, Tag::mask);
  const unsigned ceiling = mask == nullptr ? kAll : mask->allowed;
  for (const AclEntry& entry : file.acl) {
    if (entry.tag == Tag::user && entry.id == who.uid) {
      return (entry.allowed & ceiling & wanted) == wanted;
    }
  }
  bool in_any = false;
  for (const AclEntry& entry : file.acl) {
    const bool applies = (entry.tag == Tag::owning_group && who.is_in(file.group)) ||
                         (entry.tag == Tag::group && who.is_in(entry.id));
    if (!applies) continue;
    in_any = true;
    if ((entry.allowed & ceiling & wanted) == wanted) return true;
  }
  const AclEntry* others = find(file.acl, Tag::others);
  return !in_any && others != nullptr && (others->allowed & wanted) == wanted;
}

std::string_view verb_of(unsigned wanted, const FileRights& file) {
  if (S_ISDIR(file.mode)) return "enter";
  if (S_ISSOCK(file.mode)) return "connect to";
  return (wanted & kExecute) != 0 ? "read and run" : "read";
}

}  // namespace

bool Who::is_in(::gid_t group) const {
  return gid == group || std::ranges::find(groups, group) != groups.end();
}

bool may(const Who& who, const FileRights& file, unsigned wanted) {
  if (who.uid == 0) {
    const bool runs = (wanted & kExecute) != 0 && !S_ISDIR(file.mode);
    return !runs || (file.mode & 0111) != 0;
  }
  if (who.uid == file.owner) return ((file.mode >> 6) & wanted) == wanted;
  if (!file.acl.empty()) return acl_allows(who, file, wanted);
  const unsigned shift = who.is_in(file.group) ? 3 : 0;
  return ((file.mode >> shift) & wanted) == wanted;
}

std::string described(const FileRights& file) {
  std::string mode(1, S_ISDIR(file.mode) ? 'd' : S_ISSOCK(file.mode) ? 's' : '-');
  for (int bit = 8; bit >= 0; --bit) {
    mode += (file.mode & (1u << bit)) != 0 ? "xwr"[bit % 3] : '-';
  }
  return fmt::format("{} ({}{} {}:{})", file.path, mode, file.acl.empty() ? "" : "+",
                     file.owner_name.empty() ? std::to_string(file.owner) : file.owner_name,
                     file.group_name.empty() ? std::to_string(file.group) : file.group_name);
}

std::vector<AclEntry> parse_acl(base::ByteView value) {
  std::vector<AclEntry> entries;
  if (value.size() < kAclHeadBytes || little_endian(value, 0, 4) != kAclVersion) return entries;
  for (std::size_t at = kAclHeadBytes; at + kAclEntryBytes <= value.size(); at += kAclEntryBytes) {
    entries.push_back({static_cast<Tag>(little_endian(value, at, 2)),
                       little_endian(value, at + 2, 2), little_endian(value, at + 4, 4)});
  }
  return entries;
}

std::string why_not(const Who& who, const PathRights& path, unsigned wanted) {
  for (const FileRights& folder : path.folders) {
    if (may(who, folder, kExecute)) continue;
    return fmt::format("{} may not enter {}", who.name, described(folder));
  }
  if (!path.seen() || may(who, path.last, wanted)) return {};
  return fmt::format("{} may not {} {}", who.name, verb_of(wanted, path.last),
                     described(path.last));
}

}  // namespace doctor
