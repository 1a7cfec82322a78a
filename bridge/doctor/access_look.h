// Looks at the sockets and the roots in the settings, as web servers and programs find them.
#pragma once

#include "config/settings.h"
#include "doctor/observations.h"

namespace doctor {

// For each address of the settings; none: for those that the running bridge names. As root, each
// connects once with the rights of each server, in its file system, and leaves.
std::vector<Listening> look_at_sockets(const config::Settings& settings, const Observations& seen);

// The roots, at most kFilesMax files of each, and the users that their programs run as.
constexpr std::size_t kFilesMax = 300;
void look_at_roots(const config::Settings& settings, Observations& seen);

}  // namespace doctor
