// Looks at the sockets and the roots in the settings, as web servers and programs find them.
#pragma once

#include "config/settings.h"
#include "doctor/observations.h"

namespace doctor {

// Looks at each address in the settings or, if there is none, at those that the running bridge
// names. As root, it connects once to each with the rights of each server, in its file system.
std::vector<Listening> look_at_sockets(const config::Settings& settings, const Observations& seen);

// The roots, at most kFilesMax files of each, and the users that their programs run as.
constexpr std::size_t kFilesMax = 300;
void look_at_roots(const config::Settings& settings, Observations& seen);

}  // namespace doctor
