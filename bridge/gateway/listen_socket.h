// Makes listening sockets, or takes over those that somebody else made.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "config/listen_address.h"

namespace gateway {

// Binds and listens. A unix socket's file gets mode; a stale file of a bridge that is gone is
// replaced, one that somebody listens on is an error.
base::Result<base::UniqueFd> listen_on(const config::ListenAddress& address, ::mode_t mode);

struct InheritedSocket {
  base::UniqueFd fd;
  std::string name;
};

// Listening sockets that this process was started with: systemd's (LISTEN_FDS, LISTEN_PID,
// sd_listen_fds(3)) and a web server's or spawn-fcgi's on descriptor 0 (FastCGI 1.0 §2.2, as
// libfcgi's FCGX_IsCGI tells it). Descriptor 0 becomes /dev/null. Called once, by main.
std::vector<InheritedSocket> inherited_sockets();

}  // namespace gateway
