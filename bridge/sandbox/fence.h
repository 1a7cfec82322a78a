// The filter that every sandbox has, whatever else is wished: it refuses the calls that reach what
// lies outside and that neither Landlock nor a namespace rules.
#pragma once

#include <string>

#include "base/result.h"

namespace sandbox {

// Which sockets a program may make; others get EAFNOSUPPORT.
enum class Sockets {
  all,
  of_a_namespace,  // those that a namespace of the network holds: AF_VSOCK, AF_ALG, ... are outside
  files_alone      // AF_UNIX: there is no namespace
};

// The instructions, as the bytes of struct sock_filter. With EPERM it refuses to change another
// process's limits, priority, scheduling and memory policy, named by its pid: also of oneself by
// one's own pid, which no filter knows. 0, which is oneself, is what libraries and shells say.
base::Result<std::string> fence_of(Sockets allowed);

}  // namespace sandbox
