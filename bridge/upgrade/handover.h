// What passes between a bridge and the new process that takes over from it: packets of JSON, some
// with a descriptor, over a SOCK_SEQPACKET socket pair.
//
//   old → new   {"listener": name} + its socket, for each
//               {"control": path, "programs": [...]} + its socket: this is the last. For each
//               program that is warm {"program": path, "learned": [modules], "environment": block}
//   new → old   {"failed": why}: it does not start, or
//               {"ready": true}: programs are warm
//   old → new   {"serve": true}: the old one accepts no more connections
//               {"connection": true} + its socket, for each, once nothing is open on it
// If the channel ends before `serve`, the upgrade has failed, and the remaining process goes on as
// if nothing had happened; if it ends after that, the old process is gone.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "gateway/listen_socket.h"
#include "pool/pools.h"

namespace upgrade {

// A packet as it arrived.
struct HandoverPacket {
  nlohmann::json message;  // discarded: it was not JSON
  base::UniqueFd fd;
  bool over = false;  // there was no packet: the other side has ended
};

// fd: -1 or borrowed. Fails at once if the other side does not read.
base::Status send_packet(int channel, const nlohmann::json& message, int fd = -1);

enum class Patience { none, endless };
// nullopt: nothing has arrived.
std::optional<HandoverPacket> receive_packet(int channel, Patience patience);

// Everything up to and including `control`.
struct Inheritance {
  std::vector<gateway::InheritedSocket> listeners;
  base::UniqueFd control;
  std::string control_path;
  std::vector<pool::WarmNote> programs;
};
// Blocks until everything has arrived. Fails if the other side ends before that, or sends a
// socket's name without the socket (there was no descriptor left for it). A note on a program that
// makes no sense is left out: its next request makes it warm.
base::Result<Inheritance> receive_inheritance(int channel);

}  // namespace upgrade
