// What passes between a bridge and the new process that takes over from it: packets of JSON, each
// with a descriptor perhaps, over a SOCK_SEQPACKET socket pair.
//
//   old → new   {"listener": name} + its socket, for each
//               {"control": path, "programs": [...]} + its socket: that is all. Of each program
//               that is warm {"program": path, "learned": [modules], "environment": block}
//   new → old   {"failed": why}: it does not start, or
//               {"ready": true}: programs are warm
//   old → new   {"serve": true}: the old one accepts nobody any more
//               {"connection": true} + its socket, for each, once nothing is open on it
// The end of the channel: before `serve` it did not work, and the one that is left goes on as if
// nothing had been; behind it the old one is gone.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "gateway/listen_socket.h"
#include "pool/pools.h"

// A packet as it came.
struct HandoverPacket {
  nlohmann::json message;  // discarded: it was none
  base::UniqueFd fd;
  bool over = false;  // there is none: the other side has ended
};

// fd: -1 or borrowed. Fails at once if the other side takes nothing.
base::Status send_packet(int channel, const nlohmann::json& message, int fd = -1);

enum class Patience { none, endless };
// nullopt: nothing there now.
std::optional<HandoverPacket> receive_packet(int channel, Patience patience);

// Everything up to `control`.
struct Inheritance {
  std::vector<gateway::InheritedSocket> listeners;
  base::UniqueFd control;
  std::string control_path;
  std::vector<pool::WarmNote> programs;
};
// Blocks until it is there.
base::Result<Inheritance> receive_inheritance(int channel);
