#include "worker/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

// What came with a packet. sender: the process that sent it, if the kernel reports it; memfd: a
// descriptor, if there was one.
struct Along {
  pid_t sender = 0;
  base::UniqueFd memfd{};
};

// There may be room for more than one. All but one are closed.
void take_fds(cmsghdr& rights, base::UniqueFd& memfd) {
  for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= rights.cmsg_len; at += sizeof(int)) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(&rights) + at, sizeof fd);
    memfd = base::UniqueFd(fd);
  }
}

// Like recv() into packet.
ssize_t receive_from(int fd, std::array<char, MESSAGE_TO_BRIDGE_MAX>& packet, Along& along) {
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(fd, &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET) continue;
    if (at->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(at), sizeof credentials);
      along.sender = credentials.pid;
    } else if (at->cmsg_type == SCM_RIGHTS) {
      take_fds(*at, along.memfd);
    }
  }
  return size;
}

// The strings of an EXECUTE. A program may send any file: from a memfd whose content is fixed, a
// read does not wait.
bool read_memfd(int fd, std::string& text) {
  constexpr int kFixed = F_SEAL_WRITE | F_SEAL_SHRINK;
  const int seals = fd < 0 ? -1 : ::fcntl(fd, F_GET_SEALS);
  struct stat status = {};
  if (seals < 0 || (seals & kFixed) != kFixed || ::fstat(fd, &status) != 0 ||
      status.st_size > off_t{MESSAGE_EXECUTE_STRINGS_MAX}) {
    return false;
  }
  text.resize(static_cast<std::size_t>(status.st_size));
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::pread(fd, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
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
  Along along;
  const ssize_t size = receive_from(fd_.get(), packet, along);
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
    auto received = message::decode(base::ByteView(packet.data(), static_cast<std::size_t>(size)));
    if (received && is_forged(received.value(), along.sender)) {
      break_off(ChannelEnd::fault, "a ready for another process");
    } else if (received && received.value().type == MESSAGE_EXECUTE &&
               received.value().text.empty() &&
               !read_memfd(along.memfd.get(), received.value().text)) {
      break_off(ChannelEnd::fault, "an execute without its strings");
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
