// Makes listening sockets, or takes over existing ones.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "config/listen_address.h"

namespace gateway {

// The owner of a unix socket; -1: the default, the bridge's own user or group.
struct SocketOwner {
  ::uid_t uid = static_cast<::uid_t>(-1);
  ::gid_t gid = static_cast<::gid_t>(-1);
};

// Binds and listens. A unix socket's file gets mode and owner. A stale file of a bridge that is
// gone is replaced; a file that somebody listens on is an error. On failure no file is left.
base::Result<base::UniqueFd> listen_on(const config::ListenAddress& address, ::mode_t mode,
                                       SocketOwner owner = {});

// Whether that socket is bound to the address: a socket that was handed over, to one that the
// settings name as well.
bool is_bound_to(const base::UniqueFd& socket, const config::ListenAddress& address);

// The program bound to the address at which an accepted connection came in; empty: there is none.
// 0.0.0.0 and [::] are all addresses of the machine. A connection that another bridge has accepted
// is known by its address as well.
std::string program_bound_to(const base::UniqueFd& connection,
                             const std::vector<config::BoundAddress>& bound);

// The file of a unix socket as it is now, so that it is recognised when it is to be removed.
class SocketFile {
 public:
  SocketFile() = default;  // none
  explicit SocketFile(std::string path);

  const std::string& path() const { return path_; }
  // Does nothing if another socket has taken its place.
  void remove() const;

 private:
  std::string path_;
  ::dev_t device_ = 0;
  ::ino_t inode_ = 0;
};

// Why no connection can be accepted on a descriptor that somebody handed over, which may be
// anything; "" if one can. Nothing else may become a listener.
std::string why_no_listener(const base::UniqueFd& fd);

struct InheritedSocket {
  base::UniqueFd fd;  // none: the descriptor that was announced is not open
  std::string name;
};

// The listening sockets that this process was started with: systemd's (LISTEN_FDS, LISTEN_PID,
// sd_listen_fds(3)), and a web server's or spawn-fcgi's on descriptor 0 (FastCGI 1.0 §2.2, as
// recognised by libfcgi's FCGX_IsCGI). Descriptor 0 becomes /dev/null. Called once, by main.
std::vector<InheritedSocket> inherited_sockets();

// The addresses from which connections may come, as set by the web server that started this process
// (FCGI_WEB_SERVER_ADDRS, FastCGI 1.0 §3.2); empty: it sets none. Called once, by the daemon.
std::vector<std::string> web_server_addresses();

}  // namespace gateway
