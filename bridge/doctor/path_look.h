// Looks at what is on a path.
#pragma once

#include <string>

#include "doctor/permission.h"

namespace doctor {

// The rights on a path, links followed. Inside another process's file system, if top is its root
// ("/proc/PID/root"). At most one blocking call for each name on it, and two for its ACL and names.
PathRights look_at_path(const std::string& path, const std::string& top = {});

// The file itself, or why it cannot be seen.
bool look_at_file(const std::string& path, FileRights& found);

}  // namespace doctor
