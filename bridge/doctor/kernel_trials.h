// What the kernel allows, found out by trying it in a child.
#pragma once

#include "doctor/observations.h"

namespace doctor {

// who: the user to try as, if this process may become others; none: as itself.
Kernel try_kernel(const std::optional<Who>& who);

}  // namespace doctor
