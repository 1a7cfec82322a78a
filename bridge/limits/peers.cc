#include "limits/peers.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>

#include "base/unique_fd.h"
#include "limits/users.h"

namespace limits {
namespace {

std::string address_text(const sockaddr_storage& storage) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* address =
      storage.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr)
          : &reinterpret_cast<const sockaddr_in&>(storage).sin_addr;
  ::inet_ntop(storage.ss_family, address, text.data(), text.size());
  return text.data();
}

// /proc/sys/kernel/overflowuid, which nobody changes; also the number of "nobody".
constexpr ::uid_t kOverflowUid = 65534;

// Whether this user namespace has a number for every user that exists.
bool has_all_users() {
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t inside = 1, outside = 1, count = 0;
  return map >> inside >> outside >> count && inside == 0 && outside == 0 && count == 0xffffffff;
}

}  // namespace

base::Result<Peer> peer_of(int fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) {
    return base::errno_error("getpeername", errno);
  }
  if (storage.ss_family != AF_UNIX) return Peer{.address = address_text(storage)};
  ucred credentials{};
  bytes = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return base::errno_error("SO_PEERCRED", errno);
  }
  const bool known = credentials.uid != kOverflowUid || has_all_users();
  return Peer{.is_unix = true, .uid = credentials.uid, .address = {}, .known = known};
}

std::optional<std::string> why_no_operator(const Peer& peer, ::uid_t own) {
  if (peer.is_unix && (!peer.known || peer.uid == 0 || peer.uid == own)) return std::nullopt;
  const std::string whom = own == 0 ? "root alone" : fmt::format("root and uid {} alone", own);
  return fmt::format("{} may not steer this bridge, {}",
                     peer.is_unix ? fmt::format("uid {}", peer.uid) : peer.address, whom + " may");
}

base::Result<PeerRules> PeerRules::of(const config::BridgeSettings& settings,
                                      const std::vector<std::string>& more) {
  PeerRules rules;
  for (std::size_t i = 0; i < settings.allow.users.size(); ++i) {
    const auto uid = uid_of(settings.allow.users[i]);
    if (!uid) {
      return base::Error{fmt::format("bridge.allow.users[{}]: {}", i + 1, uid.error().message)};
    }
    rules.uids.insert(uid.value());
  }
  for (const std::string& text : settings.allow.addresses) {
    auto block = base::AddressBlock::parse(text);
    if (block) rules.addresses.push_back(block.take());
  }
  for (const std::string& text : more) {
    // A list with only wrong entries must not become an empty list: a default-constructed block is
    // ::/128.
    auto block = base::AddressBlock::parse(text);
    rules.addresses.push_back(block ? block.take() : base::AddressBlock());
  }
  return rules;
}

std::optional<std::string> PeerRules::why_not(const Peer& peer) const {
  if (peer.is_unix) {
    if (uids.empty() || (peer.known && uids.contains(peer.uid))) return std::nullopt;
    return fmt::format("uid {} is not in bridge.allow.users", peer.uid);
  }
  const bool allowed = addresses.empty() ||
                       std::any_of(addresses.begin(), addresses.end(),
                                   [&](const auto& block) { return block.contains(peer.address); });
  if (allowed) return std::nullopt;
  return peer.address + " is not in bridge.allow.addresses";
}

}  // namespace limits
