#include "gateway/listen_socket.h"

#include <arpa/inet.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace gateway {
namespace {

constexpr int kBacklog = 4096;      // the kernel accepts at most net.core.somaxconn
constexpr int kSystemdFirstFd = 3;  // SD_LISTEN_FDS_START

base::Error failed(const config::ListenAddress& address, const char* step) {
  return base::errno_error("cannot listen on " + config::to_string(address) + ": " + step, errno);
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), std::min(path.size(), sizeof name.sun_path - 1));
  return name;
}

// Whether a process accepts connections at path.
bool answers(const sockaddr_un& name) {
  const base::UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  return ::connect(probe.get(), address, sizeof name) == 0 || errno == EAGAIN;
}

// A folder below /run is gone after a restart of the machine; with systemd RuntimeDirectory= makes
// it.
void make_folder_of(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (folder.empty()) return;
  const ::mode_t umask_before = ::umask(022);
  if (::mkdir(folder.c_str(), 0755) == 0) base::log_info("made the folder {}", folder);
  ::umask(umask_before);
}

base::Result<base::UniqueFd> listen_on_unix(const config::ListenAddress& address, ::mode_t mode,
                                            SocketOwner owner) {
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed(address, "socket");
  const sockaddr_un name = unix_address(address.path);
  make_folder_of(address.path);
  struct stat status;
  if (::lstat(name.sun_path, &status) == 0 && S_ISSOCK(status.st_mode)) {
    if (answers(name)) {
      errno = EADDRINUSE;
      return failed(address, "somebody listens there");
    }
    ::unlink(name.sun_path);
  }
  // This gives the socket its final mode from its first moment.
  const ::mode_t umask_before = ::umask(static_cast<::mode_t>(~mode & 0777));
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name);
  ::umask(umask_before);
  if (bound != 0) return failed(address, "bind");
  // Nobody can connect before listen(), so nobody sees it with another owner.
  const bool given = owner.uid != SocketOwner{}.uid || owner.gid != SocketOwner{}.gid;
  const bool owned = !given || ::lchown(name.sun_path, owner.uid, owner.gid) == 0;
  if (owned && ::listen(fd.get(), kBacklog) == 0) return fd;
  auto failure = failed(address, owned ? "listen" : "give it to its owner or group");
  ::unlink(name.sun_path);
  return failure;
}

struct TcpAddress {
  sockaddr_storage storage{};  // all else zero, so that two can be compared
  socklen_t size = 0;
};

TcpAddress tcp_address(const config::ListenAddress& address) {
  TcpAddress name;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&name.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&name.storage);
  if (::inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    name.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    name.size = sizeof *v6;
  }
  return name;
}

bool is_any(const TcpAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr.s_addr == INADDR_ANY;
  }
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr);
}

::in_port_t port_of(const sockaddr_storage& name) {
  return name.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(name).sin_port
                                   : reinterpret_cast<const sockaddr_in6&>(name).sin6_port;
}

// The address that a socket has at this end.
class OwnName {
 public:
  explicit OwnName(const base::UniqueFd& socket) {
    const bool known =
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound_), &size_) == 0;
    if (!known) size_ = 0;
  }

  bool is(const sockaddr_un& name) const {
    return bound_.ss_family == AF_UNIX && size_ > offsetof(sockaddr_un, sun_path) &&
           std::strncmp(reinterpret_cast<const sockaddr_un&>(bound_).sun_path, name.sun_path,
                        sizeof name.sun_path) == 0;
  }

  bool is(const TcpAddress& name) const {
    return bound_.ss_family == name.storage.ss_family && size_ == name.size &&
           std::memcmp(&bound_, &name.storage, size_) == 0;
  }

  // 0.0.0.0 has IPv4's connections; [::] also has those, by IPv6.
  bool has_port_of(const TcpAddress& name) const {
    return bound_.ss_family == name.storage.ss_family && port_of(bound_) == port_of(name.storage);
  }

 private:
  sockaddr_storage bound_{};
  socklen_t size_ = sizeof bound_;
};

base::Result<base::UniqueFd> listen_on_tcp(const config::ListenAddress& address) {
  const TcpAddress name = tcp_address(address);
  base::UniqueFd fd(
      ::socket(name.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed(address, "socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name.storage), name.size) != 0) {
    return failed(address, "bind");
  }
  if (::listen(fd.get(), kBacklog) != 0) return failed(address, "listen");
  return fd;
}

void take_systemd_sockets(std::vector<InheritedSocket>& sockets) {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || std::atoi(pid) != ::getpid()) return;
  for (int i = 0; i < std::atoi(count); ++i) {
    const int fd = kSystemdFirstFd + i;
    const bool is_open = ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
    sockets.push_back(
        {base::UniqueFd(is_open ? fd : -1), "systemd's descriptor " + std::to_string(fd)});
    if (!is_open) return;  // the count may be any number
  }
}

void take_descriptor_zero(std::vector<InheritedSocket>& sockets) {
  if (FCGX_IsCGI() != 0) return;
  const int copy = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
  const int null_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null_fd, 0);
  ::close(null_fd);
  sockets.push_back({base::UniqueFd(copy), "descriptor 0"});
}

}  // namespace

base::Result<base::UniqueFd> listen_on(const config::ListenAddress& address, ::mode_t mode,
                                       SocketOwner owner) {
  return address.kind == config::ListenAddress::Kind::unix_socket
             ? listen_on_unix(address, mode, owner)
             : listen_on_tcp(address);
}

bool is_bound_to(const base::UniqueFd& socket, const config::ListenAddress& address) {
  const OwnName name(socket);
  return address.kind == config::ListenAddress::Kind::unix_socket
             ? name.is(unix_address(address.path))
             : name.is(tcp_address(address));
}

std::string program_bound_to(const base::UniqueFd& connection,
                             const std::vector<config::BoundAddress>& bound) {
  if (bound.empty()) return {};
  const OwnName name(connection);
  const auto found = std::ranges::find_if(bound, [&name](const config::BoundAddress& one) {
    if (one.address.kind == config::ListenAddress::Kind::unix_socket) {
      return name.is(unix_address(one.address.path));
    }
    const TcpAddress wanted = tcp_address(one.address);
    return is_any(wanted) ? name.has_port_of(wanted) : name.is(wanted);
  });
  return found == bound.end() ? std::string() : found->program;
}

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  struct stat status = {};
  if (::lstat(path_.c_str(), &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

void SocketFile::remove() const {
  struct stat status = {};
  if (inode_ == 0 || ::lstat(path_.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == inode_) ::unlink(path_.c_str());
}

std::vector<std::string> web_server_addresses() {
  const char* list = std::getenv("FCGI_WEB_SERVER_ADDRS");
  std::vector<std::string> addresses;
  for (std::string rest = list == nullptr ? "" : list; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    addresses.push_back(rest.substr(0, comma));
    rest.erase(0, comma + 1);
  }
  return addresses;
}

std::string why_no_listener(const base::UniqueFd& fd) {
  if (!fd) return "is not open";
  const auto option = [&fd](int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(fd.get(), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  const int domain = option(SO_DOMAIN);
  if (domain < 0) return "is no socket";
  if (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6) {
    return "is a socket of a family that is not supported";
  }
  if (option(SO_TYPE) != SOCK_STREAM) return "is no stream socket (systemd: ListenStream=)";
  if (option(SO_ACCEPTCONN) != 1) return "is a socket that does not listen (systemd: Accept=no)";
  return {};
}

std::vector<InheritedSocket> inherited_sockets() {
  std::vector<InheritedSocket> sockets;
  take_systemd_sockets(sockets);
  take_descriptor_zero(sockets);
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  for (const InheritedSocket& socket : sockets) {
    if (socket.fd) base::set_nonblocking(socket.fd.get());
  }
  return sockets;
}

}  // namespace gateway
