#include "router/path_walk.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>

namespace router {
namespace {

constexpr std::size_t kLinksMax = 40;  // as in the kernel, path_resolution(7)

LinkOnPath link_of(const std::string& path, const struct stat& status) {
  const auto& time = status.st_ctim;
  return {.path = path,
          .device = status.st_dev,
          .inode = status.st_ino,
          .changed_ns = static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec,
          .owner = status.st_uid};
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

PathWalk walk_path(const std::string& path) {
  PathWalk walk{.real = "/", .links = {}};
  std::string rest = path;
  const auto fail = [&walk](int error_number) {
    walk.error_number = error_number;
    return walk;
  };
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string name = rest.substr(0, slash);
    rest.erase(0, std::min(slash + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      walk.real = parent_of(walk.real);
      continue;
    }
    const std::string next = walk.real + (walk.real == "/" ? "" : "/") + name;
    struct stat status = {};
    if (::lstat(next.c_str(), &status) != 0) return fail(errno);
    if (!S_ISLNK(status.st_mode)) {
      walk.real = next;
      continue;
    }
    if (walk.links.size() == kLinksMax) return fail(ELOOP);
    char target[PATH_MAX];
    const ssize_t length = ::readlink(next.c_str(), target, sizeof target);
    if (length <= 0) return fail(length < 0 ? errno : ENOENT);
    walk.links.push_back(link_of(next, status));
    if (target[0] == '/') walk.real = "/";
    rest = std::string(target, static_cast<std::size_t>(length)) + "/" + rest;
    if (rest.size() > 4 * PATH_MAX) return fail(ENAMETOOLONG);
  }
  return walk;
}

LinkOnPath look_at_link(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return {};
  return link_of(path, status);
}

bool only_changed_by(const std::string& path, std::span<const ::uid_t> users) {
  std::string at = path;
  for (bool is_itself = true;; is_itself = false) {
    struct stat status = {};
    if (::lstat(at.c_str(), &status) != 0) return false;
    if (std::find(users.begin(), users.end(), status.st_uid) == users.end()) return false;
    const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool holds = S_ISLNK(status.st_mode) || (!is_itself && (status.st_mode & S_ISVTX) != 0);
    if (others_write && !holds) return false;
    if (at == "/") return true;
    at = parent_of(at);
  }
}

}  // namespace router
