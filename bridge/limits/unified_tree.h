// The v2 tree: a cgroup passes no controllers to the cgroups below it as long as processes are in
// it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "limits/hierarchies.h"

namespace limits {

// The name of the cgroup into which the bridge moves itself where it has to, below the one in which
// it was started. If it was started in a cgroup of that name (systemd's DelegateSubgroup=bridge),
// it works below the parent of that cgroup.
inline constexpr const char* kBridgeCgroup = "bridge";

// The folder below which cgroups are made, for a process that was started in the cgroup own.
std::string base_of(const std::string& own);

// Lets the cgroups below folder have those controllers in wanted that folder itself has. Moves this
// process into kBridgeCgroup if it is alone in folder and in the way. Returns the controllers that
// they have then; an error says why they have none.
base::Result<std::vector<Controller>> open_controllers(const std::string& folder,
                                                       const std::vector<Controller>& wanted);

}  // namespace limits
