#include "doctor/bridge_look.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "admin/control_message.h"
#include "doctor/http_ask.h"
#include "doctor/process_look.h"
#include "loop/clock.h"

namespace doctor {
namespace {

using nlohmann::json;

constexpr base::Duration kControlPatience{3000};
constexpr base::Duration kAnswerPatience{10'000};
// Once the web server has answered, the bridge has long seen the request.
constexpr base::Duration kBeganPatience{500};
constexpr base::Duration kEndedPatience{3000};
constexpr std::size_t kAnswerBytesMax = 64 * base::kMiB;

base::Result<json> ask(ControlTalk& talk, const json& command) {
  if (const auto sent = talk.send(command); !sent) return sent.error();
  auto answer = talk.next(kControlPatience);
  if (!answer) return base::Error{"it does not answer in time"};
  if (answer->value("ok", false)) return *std::move(answer);
  return base::Error{admin::text_of(*answer, "error")};
}

base::Result<json> ask_once(const std::string& control, const json& command) {
  auto talk = ControlTalk::with(control);
  if (!talk) return talk.error();
  return ask(talk.value(), command);
}

std::uint64_t refused_peers(const std::string& control) {
  const auto status = ask_once(control, {{"command", "status"}});
  if (!status) return 0;
  return status.value().value("bridge", json::object()).value("peers_refused", std::uint64_t{0});
}

std::string make_marker() {
  std::array<unsigned char, 16> random{};
  const ssize_t got = ::getrandom(random.data(), random.size(), 0);
  std::string marker;
  for (const unsigned char byte : random) marker += fmt::format("{:02x}", byte);
  return got == static_cast<ssize_t>(random.size()) ? marker : std::string();
}

void send_request(const AskedUrl& url, const std::string& marker, Followed& followed) {
  const auto answer = ask_by_http(url, request_text(url, marker), kAnswerPatience);
  if (!answer) {
    followed.not_sent = answer.error().message;
    return;
  }
  followed.is_whole = answer.value().is_whole;
  const HttpAnswer head = parse_answer(answer.value().bytes);
  if (head.status == 0) followed.not_sent = "the answer is not HTTP";
  followed.status = head.status;
  followed.server = head.server;
  followed.location = head.location;
  followed.is_source = head.is_source;
}

}  // namespace

base::Result<ControlTalk> ControlTalk::with(const std::string& path) {
  auto socket = admin::connect_control(path, kControlPatience);
  if (!socket) return socket.error();
  return ControlTalk(socket.take());
}

base::Status ControlTalk::send(const json& command) {
  return admin::send_line(socket_.get(), command);
}

std::optional<json> ControlTalk::next(base::Duration patience) {
  const base::TimePoint until = loop::system_clock().measured_now() + patience;
  std::array<char, 65536> room;
  std::size_t end = bytes_.find('\n');
  while (end == std::string::npos) {
    const auto left =
        base::milliseconds_between(loop::system_clock().measured_now(), until).count();
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0 || bytes_.size() > kAnswerBytesMax) return std::nullopt;
    const std::size_t before = bytes_.size();
    bytes_.append(room.data(), static_cast<std::size_t>(got));
    end = bytes_.find('\n', before);
  }
  json line = json::parse(bytes_.substr(0, end), nullptr, false);
  bytes_.erase(0, end + 1);
  return line.is_object() ? std::optional(std::move(line)) : std::nullopt;
}

Bridge look_at_bridge(const std::string& control) {
  Bridge bridge{.control = control};
  if (control.empty()) return bridge;
  auto answer = ask_once(control, {{"command", "status"}});
  // One that ends during an upgrade closes its connections; its successor can be asked.
  if (!answer) answer = ask_once(control, {{"command", "status"}});
  if (!answer) {
    bridge.unreached = answer.error().message;
    struct stat file = {};
    const bool is_there = ::stat(control.c_str(), &file) == 0 || errno == EACCES;
    const bool nobody = bridge.unreached.find("Connection refused") != std::string::npos;
    bridge.may_be_running = is_there && !nobody;
    return bridge;
  }
  bridge.status = answer.take();
  bridge.since =
      running_since(bridge.status.value("bridge", json::object()).value("pid", ::pid_t{0}));
  return bridge;
}

Followed follow_request(const AskedUrl& url, const Bridge& bridge) {
  Followed followed{.url = url.text, .target = url.target, .host = url.host};
  followed.patience = kAnswerPatience;
  const std::string marker = make_marker();
  followed.why_not_followed = bridge.unreached.empty() ? "no bridge was asked" : bridge.unreached;
  if (!bridge.status.is_object()) {
    send_request(url, marker, followed);
    return followed;
  }
  auto talk = ControlTalk::with(bridge.control);
  const auto asked = talk ? ask(talk.value(), {{"command", "follow"}, {"marker", marker}})
                          : base::Result<json>(talk.error());
  followed.was_followed = asked.ok();
  if (!asked) followed.why_not_followed = asked.error().message;
  const std::uint64_t refused_before = refused_peers(bridge.control);
  send_request(url, marker, followed);
  if (!asked) return followed;
  followed.began = talk.value().next(kBeganPatience).value_or(json());
  if (!followed.began.is_null()) {
    followed.ended = talk.value().next(kEndedPatience).value_or(json());
  }
  const std::uint64_t refused = refused_peers(bridge.control);
  followed.peers_refused = refused - std::min(refused, refused_before);
  return followed;
}

}  // namespace doctor
