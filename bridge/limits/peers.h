// Who may connect: besides the socket's permissions, by user or by address.
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

// What the kernel reports about a peer that has connected.
struct Peer {
  bool is_unix = false;
  ::uid_t uid = 0;      // of a unix socket's peer: the user that connected
  std::string address;  // of any other peer
  // For a unix socket: false if the bridge's user namespace (user_namespaces(7)) has no number for
  // the user; uid is then the number that stands for all such users.
  bool known = true;
};
base::Result<Peer> peer_of(int fd);

// From bridge.allow; an empty list allows everybody.
struct PeerRules {
  std::set<::uid_t> uids;
  std::vector<base::AddressBlock> addresses;

  // more: addresses in addition to those in the settings; an entry that is not an address allows
  // nobody. The error says what is wrong in the settings: a user that the system does not know.
  static base::Result<PeerRules> of(const config::BridgeSettings& settings,
                                    const std::vector<std::string>& more = {});
  bool empty() const { return uids.empty() && addresses.empty(); }
  // Why the peer is not allowed; nullopt: it is.
  std::optional<std::string> why_not(const Peer& peer) const;
};

// Only root and the bridge's own user may steer the bridge, whatever the control socket's
// permissions have become. Returns why the peer may not. A peer whose user is not known comes from
// outside a container: there the permissions have decided.
std::optional<std::string> why_no_operator(const Peer& peer, ::uid_t own);

}  // namespace limits
