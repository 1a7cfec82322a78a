// The namespaces of a program: made once, entered by each of its processes.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/plan.h"

namespace sandbox {

// Descriptors keep them: they are gone, with all that is in a private /tmp, when the last one is
// closed and the last process has ended, however that came about.
struct Namespaces {
  base::UniqueFd users, mounts, network, root;

  NamespaceFds fds() const { return {users.get(), mounts.get(), network.get(), root.get()}; }
};

// Has step_down carry out the steps of to_make(), and waits for it: some milliseconds, five seconds
// at most (a path on a file system that does not answer). The error is what it said.
base::Result<Namespaces> make_namespaces(const std::string& step_down, const StepList& steps);

}  // namespace sandbox
