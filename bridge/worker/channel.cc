#include "worker/channel.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/write_all.h"

namespace worker {
namespace {

// More messages than a socket can hold; whoever else has it may go on sending.
constexpr unsigned kRestMax = 1024;

base::Result<base::UniqueFd> make_memfd(base::ByteView content) {
  base::UniqueFd fd(::memfd_create("cgibridge-request", MFD_CLOEXEC));
  if (!fd) return base::errno_error("memfd_create", errno);
  const auto written = base::write_all(fd.get(), content, "write to a memfd");
  if (!written) return written.error();
  return fd;
}

// Like recv() into packet; sender: the process that sent it, as the kernel reports it. The kernel
// closes descriptors that came along, because it finds no room for them.
ssize_t receive_from(int fd, std::array<char, MESSAGE_TO_BRIDGE_MAX>& packet, pid_t& sender) {
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(fd, &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials{};
    std::memcpy(&credentials, CMSG_DATA(at), sizeof credentials);
    sender = credentials.pid;
  }
  return size;
}

}  // namespace

base::Result<base::FdPair> make_channel() {
  return base::make_socket_pair(SOCK_SEQPACKET);
}

Channel::Channel(loop::Loop& loop, base::UniqueFd fd, ChannelOwner& owner,
                 Introduction introduction)
    : fd_(std::move(fd)),
      owner_(owner),
      introduction_(introduction),
      watch_(loop, fd_.get(), [this](unsigned) { (void)receive(); }) {
  if (introduction_ == Introduction::by_kernel) tell_senders(1);
  watch_.ask(loop::kReadable);
}

// Sets whether the kernel says which process sent a packet.
void Channel::tell_senders(int on) {
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

base::Status Channel::send(base::ByteView packet, std::span<const int> fds) {
  BRIDGE_ASSERT(fds.size() <= MESSAGE_FDS_MAX);
  iovec part{const_cast<char*>(packet.data()), packet.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * MESSAGE_FDS_MAX)> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  if (::sendmsg(fd_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    return base::errno_error("send to a worker", errno);
  }
  return base::Done{};
}

base::Status Channel::send_request(const message::EncodedRequest& request,
                                   std::span<const int> fds) {
  if (request.memfd_content.empty()) return send(request.packet, fds);
  auto memfd = make_memfd(request.memfd_content);
  if (!memfd) return memfd.error();
  std::vector<int> with_memfd(fds.begin(), fds.end());
  with_memfd.push_back(memfd.value().get());
  return send(request.packet, with_memfd);
}

void Channel::hang_up() {
  ::shutdown(fd_.get(), SHUT_WR);
}

void Channel::drain() {
  for (unsigned messages = 0; messages < kRestMax && receive(); ++messages) {
  }
}

// Reads one message per event: if there are more, another event follows. False if nothing more is
// there.
bool Channel::receive() {
  if (broken_) return false;
  std::array<char, MESSAGE_TO_BRIDGE_MAX> packet;
  pid_t sender = 0;
  const ssize_t size =
      introduction_ == Introduction::none
          ? ::recv(fd_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC)
          : receive_from(fd_.get(), packet, sender);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (size < 0 && errno == ECONNRESET) {
    // This comes before what the other side sent, which can still be read.
    unread_ = true;
    return true;
  }
  if (size == 0) {
    break_off(unread_ ? ChannelEnd::unread : ChannelEnd::closed, "closed");
  } else if (size < 0) {
    break_off(ChannelEnd::fault, std::strerror(errno));
  } else if (static_cast<std::size_t>(size) > packet.size()) {
    break_off(ChannelEnd::fault, "a message too long");
  } else {
    const auto received =
        message::decode(base::ByteView(packet.data(), static_cast<std::size_t>(size)));
    if (received && is_forged(received.value(), sender)) {
      break_off(ChannelEnd::fault, "a ready for another process");
    } else if (received) {
      owner_.on_message(received.value());
    } else {
      break_off(ChannelEnd::fault, received.error().message);
    }
  }
  return !broken_;
}

// Only the first READY names a process that nobody knows yet.
bool Channel::is_forged(const message::Received& received, pid_t sender) {
  if (introduction_ == Introduction::none || received.type != MESSAGE_READY) return false;
  introduction_ = Introduction::none;
  tell_senders(0);
  return received.pid != sender;
}

void Channel::break_off(ChannelEnd end, const std::string& why) {
  broken_ = true;
  watch_.ask(loop::kNothing);
  owner_.on_broken(end, why);
}

}  // namespace worker
