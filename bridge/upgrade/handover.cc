#include "upgrade/handover.h"

#include <sys/socket.h>

#include <cerrno>

#include "admin/control_message.h"

namespace upgrade {
namespace {
// A packet is at most as large as a socket's buffer.
constexpr std::size_t kPacketMax = 128 * 1024;

// What is missing or of another kind is empty.
pool::WarmNote warm_note(const nlohmann::json& note) {
  pool::WarmNote warm{.program = admin::text_of(note, "program"),
                      .learned = {},
                      .environment = admin::text_of(note, "environment")};
  const auto learned = note.find("learned");
  if (learned == note.end() || !learned->is_array()) return warm;
  for (const nlohmann::json& name : *learned) {
    if (name.is_string()) warm.learned.push_back(name.get<std::string>());
  }
  return warm;
}

base::Error without_socket(const std::string& what) {
  return base::Error{what +
                     " came without its socket from the bridge that was to be taken over from"};
}
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
      const std::string name = admin::text_of(message, "listener");
      if (!packet->fd) return without_socket("the listener " + name);
      inheritance.listeners.push_back({std::move(packet->fd), name});
      continue;
    }
    if (!message.contains("control")) continue;
    inheritance.control_path = admin::text_of(message, "control");
    const bool has_control = !inheritance.control_path.empty();
    if (has_control && !packet->fd)
      return without_socket("the control socket " + inheritance.control_path);
    inheritance.control = std::move(packet->fd);
    const auto programs = message.find("programs");
    if (programs == message.end() || !programs->is_array()) return inheritance;
    for (const nlohmann::json& note : *programs) {
      pool::WarmNote warm = warm_note(note);
      if (!warm.program.empty()) inheritance.programs.push_back(std::move(warm));
    }
    return inheritance;
  }
}

}  // namespace upgrade
