// The daemon's control socket: it receives commands and sends answers.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "admin/control_message.h"
#include "base/out_buffer.h"
#include "gateway/listen_socket.h"
#include "gateway/listener.h"
#include "loop/fd_watch.h"

namespace admin {

// One connected client. It may keep the connection for as long as it likes: `attach` does that.
class ControlClient {
 public:
  struct Events {
    // A line arrived, perhaps with a descriptor; the answer is sent back.
    std::function<nlohmann::json(ControlClient&, const nlohmann::json&, base::UniqueFd fd)> on_line;
    std::function<void(ControlClient&)> on_gone;
  };

  ControlClient(loop::Loop& loop, base::UniqueFd socket, Events events);

  void send(const nlohmann::json& message);
  bool gone() const { return gone_; }
  // Destroyed with this client, instead of what it held before.
  void hold(std::shared_ptr<void> held) { held_ = std::move(held); }
  int socket() const { return socket_.get(); }

 private:
  void on_ready(unsigned readiness);
  void take_lines();
  void flush();
  void lose();

  base::UniqueFd socket_;
  Events events_;
  std::string line_;
  base::UniqueFd fd_;  // arrived with the current line
  base::OutBuffer out_;
  bool gone_ = false;
  std::shared_ptr<void> held_;  // whatever a command left here: shared, because its type is unknown
  loop::FdWatch watch_;
};

class ControlServer {
 public:
  // One command: gets its arguments, the client that sent it, and the descriptor that came along.
  // Returns the answer: {"ok": true, ...} or {"ok": false, "error": "..."}; null: the command
  // itself sends the answer to the client later.
  using Command = std::function<nlohmann::json(const nlohmann::json& arguments,
                                               ControlClient& client, base::UniqueFd fd)>;

  // Why the process that made a connection may not give that command; none: it may.
  using Admission = std::function<std::optional<std::string>(int fd, const std::string& command)>;

  // socket: listening. commands: by name. A client that may not give a command is told why.
  ControlServer(loop::Loop& loop, base::UniqueFd socket, const std::string& path,
                std::map<std::string, Command> commands,
                std::function<void(ControlClient&)> on_client_gone, Admission why_not = {});
  ~ControlServer();

  const std::string& path() const { return file_.path(); }
  const base::UniqueFd& socket() const { return listener_.fd(); }
  // Another bridge serves the socket from now on: the file stays when this object is destroyed.
  void keep_file() { file_ = {}; }

 private:
  void accept(base::UniqueFd socket);
  nlohmann::json answer(ControlClient& client, const nlohmann::json& line, base::UniqueFd fd);

  loop::Loop& loop_;
  gateway::SocketFile file_;
  std::map<std::string, Command> commands_;
  std::function<void(ControlClient&)> on_client_gone_;
  const Admission why_not_;
  std::list<std::unique_ptr<ControlClient>> clients_;
  gateway::Listener listener_;
  loop::Deferred sweep_;
};

}  // namespace admin
