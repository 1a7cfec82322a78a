// Asks the running bridge by its control socket; every wait is bounded.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "doctor/http_text.h"
#include "doctor/observations.h"

namespace doctor {

// One connection to the control socket.
class ControlTalk {
 public:
  static base::Result<ControlTalk> with(const std::string& path);

  base::Status send(const nlohmann::json& command);
  // The next line; none within patience, or if the bridge is gone.
  std::optional<nlohmann::json> next(base::Duration patience);

 private:
  explicit ControlTalk(base::UniqueFd socket) : socket_(std::move(socket)) {}

  base::UniqueFd socket_;
  std::string bytes_;
};

// The bridge at that control socket.
Bridge look_at_bridge(const std::string& control);

// Sends one request through the web server, while the bridge, if it can be asked, says what it sees
// of it.
Followed follow_request(const AskedUrl& url, const Bridge& bridge);

}  // namespace doctor
