#include "limits/hierarchies.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace limits {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// proc(5): blanks, tabs, line feeds and backslashes in a path are written as \ooo.
std::string unescaped(std::string_view path) {
  std::string plain;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::string_view digits = path.substr(i + 1, 3);
    if (path[i] != '\\' || digits.size() != 3 ||
        digits.find_first_not_of("01234567") != std::string_view::npos) {
      plain += path[i];
      continue;
    }
    plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
    i += 3;
  }
  return plain;
}

struct Mount {
  Version version;
  std::string root;  // the cgroup that is visible at point
  std::string point;
  std::vector<Controller> controllers;
};

// "36 35 98:0 /root /point rw,noatime shared:1 - type source options"
std::optional<Mount> mount_of(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto fields = split(line.substr(0, dash), " ");
  const auto kind = split(line.substr(dash + 3), " ");
  if (fields.size() < 5 || kind.size() < 3) return std::nullopt;
  if (kind[0] != "cgroup" && kind[0] != "cgroup2") return std::nullopt;
  Mount mount{.version = kind[0] == "cgroup" ? Version::v1 : Version::v2,
              .root = unescaped(fields[3]),
              .point = unescaped(fields[4]),
              .controllers = {}};
  if (mount.version == Version::v1) mount.controllers = controllers_in(kind[2]);
  return mount;
}

// "4:memory:/path", "0::/path": the path in the tree that has that controller, or in v2's tree.
std::optional<std::string_view> own_path(std::string_view own_cgroups,
                                         std::optional<Controller> controller) {
  for (const std::string_view line : split(own_cgroups, "\n")) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const auto has = controllers_in(names);
    const bool found =
        controller ? std::find(has.begin(), has.end(), *controller) != has.end() : names.empty();
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The folder at which path is visible, if it is below the mount's root.
std::optional<std::string> folder_of(const Mount& mount, std::string_view path) {
  if (path == mount.root || (path == "/" && mount.root == "/")) return mount.point;
  const std::string root = mount.root == "/" ? "/" : mount.root + "/";
  if (!path.starts_with(root) || path.starts_with("/..")) return std::nullopt;
  return mount.point + "/" + std::string(path.substr(root.size()));
}

}  // namespace

std::vector<Controller> controllers_in(std::string_view names) {
  std::vector<Controller> found;
  for (const std::string_view name : split(names, ", \n")) {
    const auto known = std::find(kControllerNames.begin(), kControllerNames.end(), name);
    if (known == kControllerNames.end()) continue;
    found.push_back(static_cast<Controller>(known - kControllerNames.begin()));
  }
  return found;
}

std::vector<Hierarchy> find_hierarchies(std::string_view mountinfo, std::string_view own_cgroups) {
  std::vector<Hierarchy> found;
  for (const std::string_view line : split(mountinfo, "\n")) {
    auto mount = mount_of(line);
    if (!mount) continue;
    const bool is_v1 = mount->version == Version::v1;
    if (is_v1 && mount->controllers.empty()) continue;
    const auto path =
        own_path(own_cgroups, is_v1 ? std::optional(mount->controllers[0]) : std::nullopt);
    const auto folder = path ? folder_of(*mount, *path) : std::nullopt;
    const bool again = std::any_of(found.begin(), found.end(), [&](const Hierarchy& other) {
      return other.version == mount->version && other.controllers == mount->controllers;
    });
    if (!folder || again) continue;
    found.push_back({.version = mount->version,
                     .controllers = std::move(mount->controllers),
                     .mount = std::move(mount->point),
                     .own = *folder});
  }
  return found;
}

}  // namespace limits
