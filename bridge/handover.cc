#include "handover.h"

#include <sys/socket.h>

#include <cerrno>

#include "admin/control_message.h"

namespace {
// A packet is at most as large as a socket's buffer.
constexpr std::size_t kPacketMax = 128 * 1024;
}  // namespace

base::Status send_packet(int channel, const nlohmann::json& message, int fd) {
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (admin::send_with_fd(channel, text, fd, MSG_DONTWAIT) >= 0) return base::Done{};
  return base::errno_error("cannot tell the other process", errno);
}

std::optional<HandoverPacket> receive_packet(int channel, Patience patience) {
  std::string text(kPacketMax, '\0');
  HandoverPacket packet;
  ssize_t got;
  do {
    got = admin::receive_with_fd(channel, text, packet.fd,
                                 patience == Patience::none ? MSG_DONTWAIT : 0);
    // If the other side ended with unread packets, recvmsg() reports that once as an error, before
    // what the other side sent earlier.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  packet.over = got <= 0;
  if (packet.over) return packet;
  text.resize(static_cast<std::size_t>(got));
  packet.message = nlohmann::json::parse(text, nullptr, false);
  return packet;
}

base::Result<Inheritance> receive_inheritance(int channel) {
  Inheritance inheritance;
  for (;;) {
    auto packet = receive_packet(channel, Patience::endless);
    if (!packet || packet->over || !packet->message.is_object()) {
      return base::Error{"the bridge that was to be taken over from has ended"};
    }
    const nlohmann::json& message = packet->message;
    if (message.contains("listener")) {
      inheritance.listeners.push_back({std::move(packet->fd), admin::text_of(message, "listener")});
      continue;
    }
    if (!message.contains("control")) continue;
    inheritance.control = std::move(packet->fd);
    inheritance.control_path = admin::text_of(message, "control");
    for (const nlohmann::json& note : message.value("programs", nlohmann::json::array())) {
      inheritance.programs.push_back({.program = admin::text_of(note, "program"),
                                      .learned = note.value("learned", std::vector<std::string>()),
                                      .environment = admin::text_of(note, "environment")});
    }
    return inheritance;
  }
}
