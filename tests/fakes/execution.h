// What a worker does that executes another program in the middle of its request, and what the one
// does that takes its place (message/wire.h).
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "fakes/program_packets.h"

namespace fakes {

using Streams = std::array<base::UniqueFd, 3>;

// It executes file, which is called by that path, with one variable.
inline std::string execute_packet(std::uint64_t request_id, const std::string& file) {
  const std::string strings = "/" + std::string(1, '\0') + file + '\0' + file + '\0' + "A=1" + '\0';
  message_execute body{};
  body.request_id = request_id;
  struct stat status = {};
  ::stat(file.c_str(), &status);
  body.device = status.st_dev;
  body.inode = status.st_ino;
  body.argc = body.envc = 1;
  body.strings_bytes = static_cast<std::uint32_t>(strings.size());
  return packet(MESSAGE_EXECUTE, body, strings);
}

inline void pass_streams(int peer, const Streams& streams) {
  int numbers[] = {0, 1, 2};
  iovec part{numbers, sizeof numbers};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 3)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int) * 3);
  const int fds[] = {streams[0].get(), streams[1].get(), streams[2].get()};
  std::memcpy(CMSG_DATA(rights), fds, sizeof fds);
  (void)::sendmsg(peer, &message, MSG_NOSIGNAL);
}

// As recvmsg(2), with the descriptors that came along.
inline ssize_t receive_with(int socket, std::span<char> bytes, std::vector<base::UniqueFd>& fds) {
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * MESSAGE_FDS_MAX)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size <= 0) return size;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return size;
}

// False: nothing comes any more.
inline bool take_streams(int peer, Streams& streams) {
  std::array<char, sizeof(int) * 3> numbers{};
  std::vector<base::UniqueFd> fds;
  if (receive_with(peer, numbers, fds) != ssize_t{sizeof numbers} || fds.size() != streams.size())
    return false;
  for (std::size_t i = 0; i < fds.size(); ++i) streams[i] = std::move(fds[i]);
  return ::send(peer, "\1", 1, MSG_NOSIGNAL) == 1;
}

}  // namespace fakes
