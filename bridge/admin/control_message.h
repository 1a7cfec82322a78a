// What passes over the control socket: one JSON object per line, in each direction; `attach` sends
// a descriptor along with its line.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/unique_fd.h"

namespace admin {

// A longer line is refused.
constexpr std::size_t kLineBytesMax = 64 * 1024;

// Like send() and recv(), with MSG_NOSIGNAL and MSG_CMSG_CLOEXEC; fd (if not -1) is sent along, or
// receives what came along. If several came, the last one is kept and the others are closed.
ssize_t send_with_fd(int socket, base::ByteView bytes, int fd, int flags);
ssize_t receive_with_fd(int socket, std::span<char> room, base::UniqueFd& fd, int flags);

// The client's side; blocking. Connects to the control socket at path. patience: how long this, and
// then each read and write, may take; 0: any time.
base::Result<base::UniqueFd> connect_control(const std::string& path, base::Duration patience = {});

// Sends message as a line; fd (if not -1) goes with it.
base::Status send_line(int socket, const nlohmann::json& message, int fd = -1);

// Reads one line. If the other end is gone, the error says so.
base::Result<nlohmann::json> receive_line(int socket);

// The text under that name in a message; "" if there is none or it is not text.
std::string text_of(const nlohmann::json& message, const std::string& name);

// The answer to a command that is not carried out.
nlohmann::json refused(const std::string& why);

// What one read brought: bytes, and the descriptor that came with them, if any.
struct ControlBytes {
  std::string bytes;
  base::UniqueFd fd;
};
// nullopt: nothing has arrived. An empty ControlBytes: the other end is gone.
std::optional<ControlBytes> receive_bytes(int socket);

}  // namespace admin
