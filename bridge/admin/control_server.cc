#include "admin/control_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

namespace admin {
namespace {

// A client that does not take its answers is not listened to beyond this.
constexpr std::size_t kOutHeldMax = base::kMiB;

}  // namespace

// ---- a client ----

ControlClient::ControlClient(loop::Loop& loop, base::UniqueFd socket, Events events)
    : socket_(std::move(socket)),
      events_(std::move(events)),
      watch_(loop, socket_.get(), [this](unsigned readiness) { on_ready(readiness); }) {
  watch_.ask(loop::kReadable);
}

void ControlClient::on_ready(unsigned readiness) {
  if (gone_) return;
  if ((readiness & loop::kWritable) != 0) flush();
  if (!gone_) take_lines();
  if (gone_ || (readiness & loop::kReadable) == 0) return;
  auto received = receive_bytes(socket_.get());
  if (!received.has_value()) return;
  if (received->bytes.empty()) return lose();
  line_ += received->bytes;
  if (received->fd) fd_ = std::move(received->fd);
  take_lines();
}

void ControlClient::take_lines() {
  for (std::size_t end = line_.find('\n'); end != line_.npos && !gone_ && out_.size() < kOutHeldMax;
       end = line_.find('\n')) {
    const auto message = nlohmann::json::parse(line_.substr(0, end), nullptr, false);
    line_.erase(0, end + 1);
    if (message.is_discarded() || !message.is_object()) {
      send(refused("not a JSON object"));
    } else {
      const nlohmann::json answer = events_.on_line(*this, message, std::move(fd_));
      if (!answer.is_null()) send(answer);
    }
  }
  if (line_.size() > kLineBytesMax) lose();
}

void ControlClient::send(const nlohmann::json& message) {
  out_.append(message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  flush();
}

void ControlClient::flush() {
  while (!out_.empty()) {
    const ssize_t sent =
        ::send(socket_.get(), out_.bytes().data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return lose();
    out_.consume(static_cast<std::size_t>(sent));
  }
  const unsigned readable = out_.size() < kOutHeldMax ? loop::kReadable : loop::kNothing;
  watch_.ask(out_.empty() ? readable : readable | loop::kWritable);
}

void ControlClient::lose() {
  if (gone_) return;
  gone_ = true;
  watch_.ask(loop::kNothing);
  events_.on_gone(*this);
}

// ---- the server ----

ControlServer::ControlServer(loop::Loop& loop, base::UniqueFd socket, const std::string& path,
                             std::map<std::string, Command> commands,
                             std::function<void(ControlClient&)> on_client_gone, Admission why_not)
    : loop_(loop),
      file_(path),
      commands_(std::move(commands)),
      on_client_gone_(std::move(on_client_gone)),
      why_not_(std::move(why_not)),
      listener_(loop, std::move(socket), path,
                [this](base::UniqueFd accepted) { accept(std::move(accepted)); }),
      sweep_(loop, [this] {
        std::erase_if(clients_, [](const auto& client) { return client->gone(); });
      }) {}

ControlServer::~ControlServer() {
  file_.remove();
}

void ControlServer::accept(base::UniqueFd socket) {
  clients_.push_back(std::make_unique<ControlClient>(
      loop_, std::move(socket),
      ControlClient::Events{
          [this](ControlClient& client, const nlohmann::json& line, base::UniqueFd fd) {
            return answer(client, line, std::move(fd));
          },
          [this](ControlClient& client) {
            on_client_gone_(client);
            sweep_.schedule();
          }}));
}

nlohmann::json ControlServer::answer(ControlClient& client, const nlohmann::json& line,
                                     base::UniqueFd fd) {
  const std::string name = text_of(line, "command");
  const auto command = commands_.find(name);
  if (command == commands_.end()) {
    return refused("no command \"" + name + "\"");
  }
  if (const auto why = why_not_ ? why_not_(client.socket(), name) : std::nullopt) {
    base::log_warn("control socket: {} is refused: {}", name, *why);
    return refused(*why);
  }
  return command->second(line, client, std::move(fd));
}

}  // namespace admin
