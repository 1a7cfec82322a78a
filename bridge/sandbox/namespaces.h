// The namespaces of a program: made once, and entered by each of its processes.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/plan.h"

namespace sandbox {

// Descriptors keep them alive: when the last one is closed and the last process has ended, however
// that happened, they are gone with everything in a private /tmp.
struct Namespaces {
  base::UniqueFd users, mounts, network, root;

  NamespaceFds fds() const { return {users.get(), mounts.get(), network.get(), root.get()}; }
};

// Has step_down carry out the steps from to_make(), and waits for it: some milliseconds, five
// seconds at most (for a path on a file system that does not answer). The error is what step_down
// reported.
base::Result<Namespaces> make_namespaces(const std::string& step_down, const StepList& steps);

}  // namespace sandbox
