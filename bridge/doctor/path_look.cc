#include "doctor/path_look.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "router/path_walk.h"

namespace doctor {
namespace {

constexpr std::size_t kAclBytesMax = 4096;

// A file system that has no ACLs refuses the question.
std::vector<AclEntry> acl_of(const std::string& path) {
  std::array<char, kAclBytesMax> value;
  const ssize_t size =
      ::getxattr(path.c_str(), "system.posix_acl_access", value.data(), value.size());
  if (size <= 0) return {};
  return parse_acl({value.data(), static_cast<std::size_t>(size)});
}

}  // namespace

bool look_at_file(const std::string& path, FileRights& found) {
  struct stat file = {};
  if (::stat(path.c_str(), &file) != 0) return false;
  found.path = path;
  found.mode = file.st_mode;
  found.owner = file.st_uid;
  found.group = file.st_gid;
  if (const passwd* user = ::getpwuid(file.st_uid)) found.owner_name = user->pw_name;
  if (const group* group = ::getgrgid(file.st_gid)) found.group_name = group->gr_name;
  found.acl = acl_of(path);
  return true;
}

PathRights look_at_path(const std::string& path, const std::string& top) {
  PathRights rights;
  const router::PathWalk walk = router::walk_path(path);
  if (walk.error_number != 0) rights.unseen = walk.real + ": " + std::strerror(walk.error_number);
  const std::string& real = walk.real;
  for (std::size_t end = 0; end != real.npos;) {
    const std::string part = end == 0 ? "/" : real.substr(0, end);
    const std::size_t next = real == "/" ? real.npos : real.find('/', end + 1);
    const bool is_last = end >= real.size();
    FileRights found;
    if (!look_at_file(top + part, found)) {
      if (rights.unseen.empty()) rights.unseen = part + ": " + std::strerror(errno);
      return rights;
    }
    found.path = part;
    // Where the walk ended early, it is a folder on the way.
    if (is_last && rights.seen()) {
      rights.last = std::move(found);
      break;
    }
    rights.folders.push_back(std::move(found));
    if (is_last) break;
    end = next == real.npos ? real.size() : next;
  }
  return rights;
}

}  // namespace doctor
