// A cgroup v2 gives the cgroups below it no controllers as long as processes are in it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "limits/hierarchies.h"

namespace limits {

// The name of the cgroup, below the one in which it was started, into which the bridge moves itself
// where it has to. One that is started in a cgroup of that name (systemd's DelegateSubgroup=bridge)
// works below the one above it.
inline constexpr const char* kBridgeCgroup = "bridge";

// The folder below which cgroups are made, for a process that was started in own.
std::string base_of(const std::string& own);

// Lets the cgroups below folder have those of wanted that folder itself has. Moves this process
// into kBridgeCgroup if it is alone in folder and in the way. What they have then; an error says
// why it is none.
base::Result<std::vector<Controller>> open_controllers(const std::string& folder,
                                                       const std::vector<Controller>& wanted);

}  // namespace limits
