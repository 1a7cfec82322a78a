#include "admin/control_message.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"

namespace admin {

base::Result<base::UniqueFd> connect_control(const std::string& path, base::Duration patience) {
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (!fd || path.size() >= sizeof name.sun_path) {
    return base::Error{"cannot use the control socket " + path};
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  const auto ms = patience.count();
  const timeval limit{.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    return base::errno_error("cannot reach the bridge at " + path, errno);
  }
  return fd;
}

ssize_t send_with_fd(int socket, base::ByteView bytes, int fd, int flags) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &header, flags | MSG_NOSIGNAL);
}

ssize_t receive_with_fd(int socket, std::span<char> room, base::UniqueFd& fd, int flags) {
  iovec part{room.data(), room.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
  if (got <= 0) return got;
  for (cmsghdr* part_at = CMSG_FIRSTHDR(&header); part_at != nullptr;
       part_at = CMSG_NXTHDR(&header, part_at)) {
    if (part_at->cmsg_level != SOL_SOCKET || part_at->cmsg_type != SCM_RIGHTS) continue;
    // The kernel passes as many descriptors as there is room for: close those that were not
    // expected.
    const std::size_t bytes_of_fds = part_at->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= bytes_of_fds; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part_at) + at, sizeof number);
      fd = base::UniqueFd(number);
    }
  }
  return got;
}

base::Status send_line(int socket, const nlohmann::json& message, int fd) {
  std::string line = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  base::ByteView rest = line;
  while (!rest.empty()) {
    const ssize_t sent = send_with_fd(socket, rest, fd, 0);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return base::errno_error("control socket", errno);
    rest.remove_prefix(static_cast<std::size_t>(sent));
    fd = -1;
  }
  return base::Done{};
}

base::Result<nlohmann::json> receive_line(int socket) {
  std::string line;
  std::array<char, 65536> bytes;
  while (line.find('\n') == std::string::npos) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::errno_error("control socket", errno);
    if (got == 0) return base::Error{"the bridge closed the control socket without an answer"};
    line.append(bytes.data(), static_cast<std::size_t>(got));
  }
  auto message = nlohmann::json::parse(line, nullptr, false);
  if (message.is_discarded()) return base::Error{"the bridge's answer is not JSON"};
  return message;
}

nlohmann::json refused(const std::string& why) {
  return {{"ok", false}, {"error", why}};
}

std::string text_of(const nlohmann::json& message, const std::string& name) {
  const auto found = message.find(name);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<ControlBytes> receive_bytes(int socket) {
  std::array<char, 4096> bytes;
  ControlBytes received;
  const ssize_t got = receive_with_fd(socket, bytes, received.fd, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (got > 0) received.bytes.assign(bytes.data(), static_cast<std::size_t>(got));
  return received;
}

}  // namespace admin
