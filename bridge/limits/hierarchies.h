// Where this machine's cgroups are mounted, and which of them this process is in. Pure: works on
// the texts of /proc/self/mountinfo and /proc/self/cgroup (proc(5), cgroups(7)).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace limits {

// The controllers that the bridge uses. cpuacct is v1's count of CPU time; in v2 it belongs to cpu.
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
  // For a v1 tree. Which controllers a v2 cgroup has is in its own file (cgroup.controllers).
  std::vector<Controller> controllers;
  std::string mount;  // where it is mounted
  std::string own;    // the folder of this process's cgroup

  bool operator==(const Hierarchy&) const = default;
};

// In the order of the mounts. A tree that is mounted twice is listed once; trees in which this
// process's cgroup cannot be seen are left out.
std::vector<Hierarchy> find_hierarchies(std::string_view mountinfo, std::string_view own_cgroups);

// The controllers that a text names, separated by blanks or commas; unknown words are ignored.
std::vector<Controller> controllers_in(std::string_view names);

}  // namespace limits
