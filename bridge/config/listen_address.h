// Where the bridge listens for web servers: a unix socket's path, or a numeric address and a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace config {

struct ListenAddress {
  enum class Kind { unix_socket, tcp };
  Kind kind = Kind::unix_socket;
  std::string path;        // unix_socket: absolute, short enough for sockaddr_un
  std::string host;        // tcp: a numeric IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;  // tcp: 1 to 65535

  bool operator==(const ListenAddress&) const = default;
};

// A listening address whose requests all run one program.
struct BoundAddress {
  ListenAddress address = {};
  std::string program = {};  // its absolute path

  bool operator==(const BoundAddress&) const = default;
};

// "unix:/path", "127.0.0.1:9000", "[::1]:9000"; "localhost:9000" is read as 127.0.0.1. Other names
// are refused: the bridge never waits for a name server. The error says what is wrong with text.
base::Result<ListenAddress> parse_listen_address(std::string_view text);

// The text that parse_listen_address() reads back to the same address.
std::string to_string(const ListenAddress& address);

// Checks that path can name a unix socket: absolute and within sockaddr_un's limit.
base::Status check_socket_path(std::string_view path);

}  // namespace config
