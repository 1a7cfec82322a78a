#include "upstream/listening_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace upstream {
namespace {

// How many connections may wait for the program: all are ours, and only one at a time is useful.
constexpr int kBacklog = 16;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

const sockaddr* as_sockaddr(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

base::Result<base::UniqueFd> make_socket() {
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return base::errno_error("socket", errno);
  return fd;
}

// Binds fd in folder, listens, and removes the name again. Returns the socket's place, without a
// name.
base::Result<base::UniqueFd> listen_nameless(int fd, const std::string& folder) {
  const std::string path = folder + "/socket";
  const sockaddr_un address = address_of(path);
  if (::bind(fd, as_sockaddr(address), sizeof address) != 0) {
    return base::errno_error("bind " + path, errno);
  }
  base::UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const int open_error = errno;
  ::unlink(path.c_str());
  if (!place) return base::errno_error("open " + path, open_error);
  if (::listen(fd, kBacklog) != 0) return base::errno_error("listen", errno);
  return place;
}

}  // namespace

base::Result<ListeningSocket> ListeningSocket::make() {
  auto listening = make_socket();
  if (!listening) return listening.error();
  char folder[] = "/tmp/cgibridge-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return base::errno_error("mkdtemp in /tmp", errno);
  auto place = listen_nameless(listening.value().get(), folder);
  ::rmdir(folder);
  if (!place) return place.error();
  return ListeningSocket(listening.take(), place.take());
}

base::Result<base::UniqueFd> ListeningSocket::connect() const {
  auto made = make_socket();
  if (!made) return made.error();
  base::set_nonblocking(made.value().get());
  const sockaddr_un address = address_of("/proc/self/fd/" + std::to_string(place_.get()));
  if (::connect(made.value().get(), as_sockaddr(address), sizeof address) != 0) {
    return base::errno_error("connect to its socket", errno);
  }
  return made;
}

}  // namespace upstream
