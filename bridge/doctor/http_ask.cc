#include "doctor/http_ask.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "loop/clock.h"

namespace doctor {
namespace {

constexpr std::size_t kKeptMax = 64 * base::kKiB;

// A socket that waits only in poll(), and there only until its time is up.
class BoundedSocket {
 public:
  BoundedSocket(int family, base::Duration patience)
      : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
        until_(loop::system_clock().measured_now() + patience) {}

  int get() const { return fd_.get(); }
  bool wait_for(short event) const {
    const auto left =
        base::milliseconds_between(loop::system_clock().measured_now(), until_).count();
    pollfd ready{.fd = fd_.get(), .events = event, .revents = 0};
    if (left > 0 && ::poll(&ready, 1, static_cast<int>(left)) > 0) return true;
    errno = ETIMEDOUT;
    return false;
  }

 private:
  const base::UniqueFd fd_;
  const base::TimePoint until_;
};

bool connect_to(const BoundedSocket& socket, const AskedUrl& url) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(url.port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(url.port);
  v6.sin6_addr = in6addr_loopback;
  const auto* address =
      url.by_ipv6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  const socklen_t size = url.by_ipv6 ? sizeof v6 : sizeof v4;
  if (::connect(socket.get(), address, size) == 0) return true;
  if (errno != EINPROGRESS || !socket.wait_for(POLLOUT)) return false;
  socklen_t length = sizeof errno;
  int outcome = 0;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &outcome, &length);
  errno = outcome;
  return outcome == 0;
}

bool send_all(const BoundedSocket& socket, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR && (errno != EAGAIN || !socket.wait_for(POLLOUT))) {
      return false;
    }
  }
  return true;
}

}  // namespace

base::Result<HttpReply> ask_by_http(const AskedUrl& url, const std::string& request,
                                    base::Duration patience) {
  const BoundedSocket socket(url.by_ipv6 ? AF_INET6 : AF_INET, patience);
  const std::string where = fmt::format("{}:{}", url.by_ipv6 ? "[::1]" : "127.0.0.1", url.port);
  if (!connect_to(socket, url)) return base::errno_error("cannot connect to " + where, errno);
  if (!send_all(socket, request)) return base::errno_error("cannot send to " + where, errno);
  std::string kept;
  std::array<char, 16384> bytes;
  for (;;) {
    if (!socket.wait_for(POLLIN)) break;
    const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (got == 0) return HttpReply{.bytes = std::move(kept)};
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) break;
    kept.append(bytes.data(), std::min(static_cast<std::size_t>(got), kKeptMax - kept.size()));
  }
  // What came so far may be a whole head.
  if (!kept.empty()) return HttpReply{.bytes = std::move(kept), .is_whole = false};
  return base::errno_error("no answer from " + where, errno);
}

}  // namespace doctor
