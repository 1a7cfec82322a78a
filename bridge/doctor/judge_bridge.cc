// Whether a bridge runs, and whether it runs as it should.
#include <fmt/format.h>

#include "doctor/judges.h"

namespace doctor {
namespace {

using nlohmann::json;

std::string span_text(std::chrono::seconds span) {
  const auto seconds = span.count();
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

void judge_settings(const json& settings, const std::string& own, Findings& findings) {
  const std::string file = settings.value("file", "");
  if (!file.empty() && file != own) {
    findings.push_back({Area::bridge, Mark::note,
                        fmt::format("It reads {}, and this looked at {}.", file, own),
                        fmt::format("cgibridge doctor --config {}", file)});
  }
  const auto refused = settings.value("refused", std::vector<std::string>());
  if (!refused.empty()) {
    findings.push_back(
        {Area::bridge, Mark::wrong,
         fmt::format("It refused the settings file when it last read it, and goes on with older "
                     "settings: {}.",
                     first_of(refused, 1)),
         "cgibridge config check, then cgibridge reload"});
  }
  const auto waiting = settings.value("waiting_for_restart", std::vector<std::string>());
  if (!waiting.empty()) {
    findings.push_back({Area::bridge, Mark::note,
                        fmt::format("Changed since it was started, and not in force yet: {}.",
                                    first_of(waiting, 4)),
                        "cgibridge upgrade, which loses no request"});
  }
}

void judge_running(const Bridge& bridge, Findings& findings) {
  const json& status = bridge.status.at("bridge");
  const std::string version = status.value("version", "");
  const std::string since =
      bridge.since.count() > 0 ? fmt::format(" for {}", span_text(bridge.since)) : "";
  const std::string why_not_ready = status.value("not_ready", "");
  const std::size_t programs = bridge.status.value("programs", json::array()).size();
  const auto total = status.value("requests_total", std::uint64_t{0});
  const auto errors = status.value("errors", std::uint64_t{0});
  findings.push_back(
      {Area::bridge, Mark::ok,
       fmt::format("A bridge runs{} (version {}, pid {}): {} request(s), {} of them answered with "
                   "an error of the bridge; {} program(s){}.",
                   since, version, status.value("pid", 0), total, errors, programs,
                   why_not_ready.empty() ? "; it is ready" : "")});
  if (version != bridge.own_version) {
    findings.push_back(
        {Area::bridge, Mark::note,
         fmt::format("It is version {}, and this binary is {}.", version, bridge.own_version),
         "cgibridge upgrade"});
  }
  if (status.value("draining", false)) {
    findings.push_back({Area::bridge, Mark::wrong,
                        "It is draining: it accepts nothing new, and ends soon.",
                        "start it again: systemctl start cgibridge"});
  } else if (!why_not_ready.empty()) {
    findings.push_back(
        {Area::bridge, Mark::note, fmt::format("It is not ready: {}.", why_not_ready), ""});
  }
  judge_settings(status.value("settings", json::object()), bridge.settings_file, findings);
}

}  // namespace

void judge_bridge(const Observations& seen, Findings& findings) {
  const Bridge& bridge = seen.bridge;
  if (bridge.status.is_object()) return judge_running(bridge, findings);
  if (bridge.control.empty()) {
    findings.push_back({Area::bridge, Mark::note,
                        "The settings name no control socket: a running bridge cannot be asked.",
                        "bridge.control = \"/run/cgibridge/control.sock\""});
  } else if (bridge.may_be_running) {
    findings.push_back({Area::bridge, Mark::note,
                        fmt::format("The bridge could not be asked: {}.", bridge.unreached),
                        "root, and the bridge's own user, may ask it"});
  } else {
    findings.push_back({Area::bridge, Mark::wrong,
                        fmt::format("No bridge runs: {}.", bridge.unreached),
                        "systemctl start cgibridge, or cgibridge serve --config " +
                            bridge.settings_file + "; its log says why it ended"});
  }
}

}  // namespace doctor
