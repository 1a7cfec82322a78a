// The filter that every sandbox has, whatever its settings: it refuses calls that reach outside the
// sandbox and that neither Landlock nor a namespace controls.
#pragma once

#include <string>

#include "base/result.h"

namespace sandbox {

// Which sockets a program may make; others get EAFNOSUPPORT.
enum class Sockets {
  all,
  of_a_namespace,  // those that a network namespace covers; AF_VSOCK, AF_ALG, ... reach outside
  files_alone      // AF_UNIX: there is no namespace
};

// Returns the instructions, as the bytes of struct sock_filter. The filter refuses, with EPERM, to
// change another process's limits, priority, scheduling or memory policy, named by its pid. It also
// refuses the caller's own pid, because a filter cannot know it; libraries and shells use 0 for the
// caller itself, which is allowed.
base::Result<std::string> fence_of(Sockets allowed);

}  // namespace sandbox
