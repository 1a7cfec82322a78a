// Who may connect: beyond what a socket's permissions say, by user or by address.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/address_block.h"
#include "base/result.h"
#include "config/settings.h"

namespace limits {

// Whoever has connected, as the kernel tells it.
struct Peer {
  bool is_unix = false;
  ::uid_t uid = 0;      // of a unix socket: who made the connection
  std::string address;  // of any other
  // Of a unix socket: false if the bridge's user namespace (user_namespaces(7)) has no number for
  // whoever it is, and uid is the one that stands for all such.
  bool known = true;
};
base::Result<Peer> peer_of(int fd);

// Of bridge.allow; an empty list allows everybody.
struct PeerRules {
  std::set<::uid_t> uids;
  std::vector<base::AddressBlock> addresses;

  // more: addresses beside those of the settings; what is no address there allows nobody. The error
  // names what of the settings is at fault: a user whom the system does not know.
  static base::Result<PeerRules> of(const config::BridgeSettings& settings,
                                    const std::vector<std::string>& more = {});
  bool empty() const { return uids.empty() && addresses.empty(); }
  // Why not, if the peer is not allowed.
  std::optional<std::string> why_not(const Peer& peer) const;
};

// Who may steer the bridge, whatever the control socket's permissions became: root, and its own
// user. Why not, if the peer is somebody else. One who is not known comes from outside a container:
// the permissions have decided.
std::optional<std::string> why_no_operator(const Peer& peer, ::uid_t own);

}  // namespace limits
