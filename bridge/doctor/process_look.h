// Looks at processes: web servers, and the bridge.
#pragma once

#include <vector>

#include "config/settings.h"
#include "doctor/observations.h"

namespace doctor {

struct FoundServers {
  std::vector<WebServer> servers;
  bool in_containers = false;
};

// The web servers' processes that open sockets: not the ones that root keeps only to start others.
FoundServers find_web_servers();

// The rights of that process, the bridge; 0: of this process.
Rights look_at_rights(::pid_t bridge, const config::Settings& settings,
                      const std::string& adapters);
// How long it has been running; 0: not known.
std::chrono::seconds running_since(::pid_t pid);

// The user with that number.
Who who_is(::uid_t uid, ::gid_t gid, std::vector<::gid_t> groups);

}  // namespace doctor
