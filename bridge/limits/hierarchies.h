// Where this machine shows its cgroups, and in which of them this process is. Pure: from the texts
// of /proc/self/mountinfo and /proc/self/cgroup (proc(5), cgroups(7)).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace limits {

// What the bridge uses of cgroups. cpuacct is v1's count of CPU time; in v2 it is cpu's.
enum class Controller { cpu, cpuacct, memory, pids };
inline constexpr std::array<std::string_view, 4> kControllerNames = {"cpu", "cpuacct", "memory",
                                                                     "pids"};
constexpr std::string_view to_string(Controller controller) {
  return kControllerNames[std::size_t(controller)];
}

enum class Version { v1, v2 };

// A tree of cgroups.
struct Hierarchy {
  Version version = Version::v1;
  // Of a v1 tree. Which ones a cgroup of v2 has, its own file says (cgroup.controllers).
  std::vector<Controller> controllers;
  std::string mount;  // where it is seen
  std::string own;    // the folder of this process's cgroup

  bool operator==(const Hierarchy&) const = default;
};

// In the order of the mounts; a tree that is mounted twice once, and without those in which this
// process's cgroup cannot be seen.
std::vector<Hierarchy> find_hierarchies(std::string_view mountinfo, std::string_view own_cgroups);

// The controllers that a text names, apart by blanks or commas; others are passed over.
std::vector<Controller> controllers_in(std::string_view names);

}  // namespace limits
