#include "config/listen_address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <array>
#include <charconv>

namespace config {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

base::Error bad(std::string_view text, std::string_view why) {
  return base::Error{'"' + std::string(text) + "\" " + std::string(why)};
}

bool is_numeric(int family, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return ::inet_pton(family, host.c_str(), address.data()) == 1;
}

base::Result<std::uint16_t> parse_port(std::string_view text, std::string_view port) {
  std::uint16_t number = 0;
  const char* end = port.data() + port.size();
  auto [rest, failure] = std::from_chars(port.data(), end, number);
  if (failure != std::errc() || rest != end || number == 0) {
    return bad(text, "has no port from 1 to 65535 after the last colon");
  }
  return number;
}

base::Result<ListenAddress> parse_unix(std::string_view text) {
  std::string_view path = text.substr(kUnixPrefix.size());
  if (auto status = check_socket_path(path); !status) return status.error();
  return ListenAddress{ListenAddress::Kind::unix_socket, std::string(path), "", 0};
}

base::Result<ListenAddress> parse_tcp(std::string_view text) {
  std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return bad(text, "is neither \"unix:/path\" nor \"address:port\"");
  }
  auto port = parse_port(text, text.substr(colon + 1));
  if (!port) return port.error();
  std::string_view host = text.substr(0, colon);
  bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  std::string address(host == "localhost" && !bracketed ? "127.0.0.1" : host);
  if (address.find('\0') != std::string::npos ||
      !is_numeric(bracketed ? AF_INET6 : AF_INET, address)) {
    return bad(text, "has no numeric address like 127.0.0.1, 0.0.0.0, [::1] or [::]");
  }
  return ListenAddress{ListenAddress::Kind::tcp, "", std::move(address), port.value()};
}

}  // namespace

base::Result<ListenAddress> parse_listen_address(std::string_view text) {
  return text.starts_with(kUnixPrefix) ? parse_unix(text) : parse_tcp(text);
}

std::string to_string(const ListenAddress& address) {
  if (address.kind == ListenAddress::Kind::unix_socket) {
    return std::string(kUnixPrefix) + address.path;
  }
  bool bracketed = address.host.find(':') != std::string::npos;
  std::string host = bracketed ? '[' + address.host + ']' : address.host;
  return host + ':' + std::to_string(address.port);
}

base::Status check_socket_path(std::string_view path) {
  if (!path.starts_with('/')) return bad(path, "is not an absolute path");
  if (path.find('\0') != std::string_view::npos) return bad(path, "has a NUL byte in it");
  if (path.size() > kSocketPathMax) {
    return bad(path, "is longer than a unix socket's path can be (" +
                         std::to_string(kSocketPathMax) + " bytes)");
  }
  return base::Done{};
}

}  // namespace config
