#include "limits/unified_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/unique_fd.h"
#include "limits/cgroup.h"

namespace limits {
namespace {

bool has(const std::vector<Controller>& controllers, Controller controller) {
  return std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
}

// Writes each controller separately: the kernel takes all of a write or nothing.
std::vector<Controller> enable(const std::string& folder, const std::vector<Controller>& wanted) {
  const std::string file = folder + "/cgroup.subtree_control";
  for (const Controller controller : wanted) {
    (void)write_small_file(file, "+" + std::string(to_string(controller)));
  }
  std::vector<Controller> enabled = controllers_in(read_small_file(file));
  std::erase_if(enabled, [&](Controller one) { return !has(wanted, one); });
  return enabled;
}

bool is_alone_in(const std::string& folder) {
  return read_small_file(folder + "/cgroup.procs") == std::to_string(::getpid()) + "\n";
}

base::Status move_below(const std::string& folder) {
  const std::string leaf = folder + "/" + kBridgeCgroup;
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) {
    return base::errno_error("cannot make the cgroup " + leaf, errno);
  }
  return write_small_file(leaf + "/cgroup.procs", "0");
}

}  // namespace

std::string base_of(const std::string& own) {
  const std::size_t slash = own.rfind('/');
  return own.substr(slash + 1) == kBridgeCgroup ? own.substr(0, slash) : own;
}

base::Result<std::vector<Controller>> open_controllers(const std::string& folder,
                                                       const std::vector<Controller>& wanted) {
  std::vector<Controller> there = controllers_in(read_small_file(folder + "/cgroup.controllers"));
  std::erase_if(there, [&](Controller one) { return !has(wanted, one); });
  if (there.empty()) return base::Error{folder + " was given no controllers"};
  // The kernel would also pass cpu and pids on from a cgroup with processes in it, but then accepts
  // only threads of these processes below. The root is exempt from that, and has no cgroup.type.
  const bool is_root = ::access((folder + "/cgroup.type").c_str(), F_OK) != 0;
  if (!is_root && is_alone_in(folder)) {
    if (const auto moved = move_below(folder); !moved) return moved.error();
  }
  if (!is_root && !read_small_file(folder + "/cgroup.procs").empty()) {
    return base::Error{folder + " holds other processes as well (see bridge.cgroup)"};
  }
  std::vector<Controller> enabled = enable(folder, there);
  if (!enabled.empty()) return enabled;
  return base::Error{folder + " may not be written to (for systemd's service: Delegate=yes)"};
}

}  // namespace limits
