#include "daemon.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "admin/follow.h"
#include "admin/openmetrics.h"
#include "admin/status.h"
#include "base/log.h"
#include "config/units.h"
#include "limits/users.h"

namespace {
// Refused peers are logged at most this often; all of them are counted.
constexpr std::chrono::seconds kPeerWordPause{10};

base::Result<gateway::SocketOwner> socket_owner(const config::BridgeSettings& bridge) {
  gateway::SocketOwner owner;
  if (!bridge.socket_owner.empty()) {
    const auto uid = limits::uid_of(bridge.socket_owner);
    if (!uid) return base::Error{"bridge.socket_owner: " + uid.error().message};
    owner.uid = uid.value();
  }
  if (!bridge.socket_group.empty()) {
    const auto gid = limits::gid_of(bridge.socket_group);
    if (!gid) return base::Error{"bridge.socket_group: " + gid.error().message};
    owner.gid = gid.value();
  }
  return owner;
}
}  // namespace

base::Result<base::UniqueFd> listen_for_commands(const std::string& path) {
  if (path.empty()) return base::UniqueFd();
  return gateway::listen_on(
      {.kind = config::ListenAddress::Kind::unix_socket, .path = path, .host = {}}, 0600);
}

Daemon::Daemon(const Origin& origin, config::Settings settings, const std::string& adapters)
    : processes_(loop_),
      identities_(loop_, adapters),
      cgroups_(limits::bridge_cgroup_name(settings.bridge.control), settings.bridge.cgroup),
      pools_({loop_, processes_, {adapters, settings.bridge.cache}, identities_, cgroups_}),
      settings_(
          loop_, origin.settings_file, std::move(settings), [this] { settings_changed(); },
          limits::Identities::problems_of),
      gateway_(loop_, pools_, [this] { return settings_.now(); }),
      page_(gateway_, pools_,
            [this](const std::string& program, const std::string& mode) {
              return switch_mode(program, mode);
            }),
      origin_(origin),
      service_manager_(loop_),
      warmth_timer_(loop_, [this] { look_whether_warm(); }),
      upgrade_over_(loop_, [this] { upgrade_.reset(); }),
      leave_timer_(loop_, [this] { drain("the announced drain"); }),
      drain_timer_(loop_,
                   [this] {
                     base::log_warn(
                         "drain: {} request(s) are not done in time (bridge.drain_timeout): ended",
                         gateway_.counts().requests_active);
                     loop_.stop();
                   }),
      on_term_(loop_, SIGTERM, [this] { drain("SIGTERM"); }),
      on_int_(loop_, SIGINT, [this] { drain("SIGINT"); }),
      on_quit_(loop_, SIGQUIT, [this] { drain("SIGQUIT"); }),
      on_hup_(loop_, SIGHUP, [this] { (void)reload(); }),
      on_usr1_(loop_, SIGUSR1, [this] { (void)reopen("SIGUSR1"); }),
      on_usr2_(loop_, SIGUSR2, [this] { upgrade_by_signal(); }) {
  gateway_.own_answers().page = [this](const gateway::PageRequest& request) {
    return page_.answer(request);
  };
  gateway_.journal().come_from(origin.settings_file);
}

Daemon::~Daemon() {
  for (const gateway::SocketFile& file : socket_files_) file.remove();
}

base::Status Daemon::start(std::vector<gateway::InheritedSocket> inherited) {
  const auto settings = settings_.now();
  const config::BridgeSettings& bridge = settings->bridge;
  if (bridge.all_addresses().empty() && inherited.empty()) {
    return base::Error{"nowhere to listen: bridge.listen is empty, and no socket was handed over"};
  }
  for (const gateway::InheritedSocket& socket : inherited) {
    const std::string why_not = gateway::why_no_listener(socket.fd);
    if (!why_not.empty()) return base::Error{socket.name + " " + why_not};
  }
  prepare_limits();
  for (gateway::InheritedSocket& socket : inherited) {
    gateway_.add_listener(std::move(socket.fd), socket.name);
  }
  if (const auto listening = listen(bridge); !listening) return listening.error();
  auto control = listen_for_commands(bridge.control);
  if (!control) return control.error();
  serve_control(control.take());
  gateway_.own_answers().readiness.wait_for(prewarm(), loop_.now() + gateway::Readiness::kPatience);
  service_manager_.ready(ServiceManager::Start::first);
  return base::Done{};
}

// Runs before anything is served or started, also where another bridge's sockets are taken over.
void Daemon::prepare_limits() {
  const auto settings = settings_.now();
  use_identities();
  for (const std::string& warning : identities_.warnings_for(*settings)) {
    base::log_warn("{}", warning);
  }
  identities_.tell_of_sandboxes(*settings);
  cgroups_.apply(*settings);
}

void Daemon::serve_control(base::UniqueFd socket) {
  if (!socket) return base::log_info("there is no control socket: only signals reach this bridge");
  control_ = std::make_unique<admin::ControlServer>(
      loop_, std::move(socket), settings_.now()->bridge.control, commands(),
      [this](admin::ControlClient& client) { detach(client); },
      [this](int fd, const std::string& command) { return why_refused(fd, command); });
}

base::Status Daemon::listen(const config::BridgeSettings& bridge) {
  const auto owner = socket_owner(bridge);
  if (!owner) return owner.error();
  for (const config::ListenAddress& address : bridge.all_addresses()) {
    const bool there = std::ranges::any_of(gateway_.listeners(), [&](const auto& entry) {
      return entry.second->name() == config::to_string(address);
    });
    if (there) {  // taken over from the other bridge
      if (address.kind == config::ListenAddress::Kind::unix_socket) {
        inherited_files_.emplace_back(address.path);
      }
      continue;
    }
    const bool handed_over = std::ranges::any_of(gateway_.listeners(), [&](const auto& entry) {
      return gateway::is_bound_to(entry.second->fd(), address);
    });
    if (handed_over) continue;  // its file, too, is another's
    auto fd = gateway::listen_on(address, bridge.socket_mode, owner.value());
    if (!fd) return fd.error();
    if (address.kind == config::ListenAddress::Kind::unix_socket) {
      socket_files_.emplace_back(address.path);
    }
    gateway_.add_listener(fd.take(), config::to_string(address));
  }
  return base::Done{};
}

// The settings were checked for unknown users; but a user may have been removed since.
void Daemon::use_identities() {
  const auto settings = settings_.now();
  identities_.use(settings->bridge);
  auto rules = limits::PeerRules::of(settings->bridge, web_servers_);
  if (!rules)
    return base::log_error("{}: connections are allowed as before", rules.error().message);
  if (rules.value().empty()) return gateway_.set_admission({});
  gateway_.set_admission([this, rules = rules.take()](int fd) { return admits(rules, fd); });
}

// A web server may attach a socket as whatever user it runs as, if the control socket's permissions
// let it: what connects there is checked like any other connection, and this command steers
// nothing.
std::optional<std::string> Daemon::why_refused(int fd, const std::string& command) {
  if (command == "attach") return std::nullopt;
  const auto peer = limits::peer_of(fd);
  auto why = peer ? limits::why_no_operator(peer.value(), ::geteuid())
                  : std::optional(peer.error().message);
  if (why) gateway_.counts().peers_refused += 1;
  return why;
}

bool Daemon::admits(const limits::PeerRules& rules, int fd) {
  const auto peer = limits::peer_of(fd);
  const auto why = peer ? rules.why_not(peer.value()) : std::optional(peer.error().message);
  if (!why) return true;
  const base::TimePoint now = loop_.now();
  if (peer_told_ == base::TimePoint{} || now - peer_told_ > kPeerWordPause) {
    base::log_warn("a connection is refused: {} (others within {} s are only counted)", *why,
                   kPeerWordPause.count());
    peer_told_ = now;
  }
  return false;
}

int Daemon::run() {
  base::log_info("cgibridge serves, pid {}", ::getpid());
  loop_.run();
  base::log_info("cgibridge ends");
  return failed_ ? 1 : 0;
}

// ---- commands ----

std::map<std::string, admin::ControlServer::Command> Daemon::commands() {
  using nlohmann::json;
  return {
      {"status",
       [this](const json&, admin::ControlClient&, base::UniqueFd) {
         json answer = admin::status_json(gateway_, pools_);
         answer["bridge"]["settings"] = admin::settings_json(settings_);
         answer["ok"] = true;
         return answer;
       }},
      {"metrics",
       [this](const json&, admin::ControlClient&, base::UniqueFd) {
         return json{{"ok", true}, {"text", admin::openmetrics(gateway_, pools_)}};
       }},
      {"reload", [this](const json&, admin::ControlClient&, base::UniqueFd) { return reload(); }},
      {"mode",
       [this](const json& arguments, admin::ControlClient&, base::UniqueFd) {
         const auto why_not =
             switch_mode(admin::text_of(arguments, "program"), admin::text_of(arguments, "mode"));
         return why_not ? admin::refused(*why_not) : json{{"ok", true}};
       }},
      {"drain",
       [this](const json& arguments, admin::ControlClient&, base::UniqueFd) {
         const json after = arguments.value("after", json("0"));
         const auto announced =
             config::parse_duration(after.is_string() ? after.get<std::string>() : after.dump());
         if (!announced) return admin::refused("drain: after: " + announced.error().message);
         drain("`cgibridge drain`", announced.value());
         return json{{"ok", true}};
       }},
      {"reopen",
       [this](const json&, admin::ControlClient&, base::UniqueFd) {
         const auto reopened = reopen("`cgibridge reopen`");
         return reopened ? json{{"ok", true}} : admin::refused(reopened.error().message);
       }},
      {"follow",
       [this](const json& arguments, admin::ControlClient& client, base::UniqueFd) {
         return admin::follow(gateway_.journal().followers(), arguments, client);
       }},
      {"upgrade", [this](const json&, admin::ControlClient& client,
                         base::UniqueFd) { return upgrade(&client); }},
      {"attach", [this](const json&, admin::ControlClient& client,
                        base::UniqueFd fd) { return attach(client, std::move(fd)); }},
  };
}

nlohmann::json Daemon::reload() {
  const admin::ReloadOutcome outcome = settings_.reload();
  if (outcome.taken_over) return {{"ok", true}};
  return {{"ok", false},
          {"error", "the settings file is refused; what runs goes on"},
          {"problems", outcome.problems}};
}

std::optional<std::string> Daemon::switch_mode(const std::string& program,
                                               const std::string& mode) {
  for (std::size_t i = 0; i < config::kModeNames.size(); ++i) {
    if (config::kModeNames[i] != mode) continue;
    const auto switched = settings_.switch_mode(program, static_cast<config::Mode>(i));
    return switched ? std::nullopt : std::optional(switched.error().message);
  }
  return "no mode \"" + mode + "\": it is classic, persistent, split or shadow";
}

nlohmann::json Daemon::attach(admin::ControlClient& client, base::UniqueFd fd) {
  if (!fd) return admin::refused("attach: no socket came with the command");
  if (attached_.contains(&client)) return admin::refused("attach: this client is attached already");
  const std::string why_not = gateway::why_no_listener(fd);
  if (!why_not.empty()) return admin::refused("attach: the descriptor " + why_not);
  base::set_nonblocking(fd.get());
  attached_[&client] = gateway_.add_listener(std::move(fd), "an attached socket");
  return {{"ok", true}};
}

void Daemon::detach(admin::ControlClient& client) {
  if (upgrade_client_ == &client) upgrade_client_ = nullptr;
  const auto found = attached_.find(&client);
  if (found == attached_.end()) return;
  gateway_.remove_listener(found->second);
  attached_.erase(found);
}

// ---- life ----

void Daemon::settings_changed() {
  use_identities();
  gateway_.settings_changed();
  cgroups_.apply(*settings_.now());
  base::set_log_level(config::to_string(settings_.now()->bridge.log_level));
  if (const auto set = base::set_log_file(settings_.now()->bridge.log); !set) {
    base::log_error("bridge.log: {}: the log goes on where it was", set.error().message);
  }
  prewarm();
}

base::Status Daemon::reopen(const char* asked_by) {
  const base::Status reopened = gateway_.journal().reopen();
  base::log_info("{}: the log files are opened again", asked_by);
  return reopened;
}

std::vector<std::string> Daemon::prewarm() {
  const auto settings = settings_.now();
  std::vector<std::string> programs;
  for (const std::string& path : settings->bridge.prewarm) {
    programs.push_back(refresh(path, {}, {}));
  }
  return programs;
}

std::string Daemon::refresh(const std::string& path, std::string_view environment,
                            const std::vector<std::string>& learned) {
  auto resolution = gateway_.resolver().resolve(path);
  if (!resolution) {
    base::log_warn("prewarm: {}", resolution.refusal().reason);
    return {};
  }
  std::string program = std::move(resolution.value().program);
  pool::Pool& pool = pools_.of(program);
  pool.inherit(learned);
  pool.refresh(settings_.now()->for_program(program), resolution.value().file, environment,
               compare::Side::classic);
  return program;
}

void Daemon::drain(const char* asked_by, base::Duration announced) {
  if (gateway_.draining()) {
    base::log_warn("{} again: stopping without waiting", asked_by);
    return loop_.stop();
  }
  gateway_.own_answers().readiness.leave();
  if (announced.count() > 0) {
    base::log_info("{}: draining in {}; bridge.health says so until then", asked_by,
                   config::format_duration(announced));
    return leave_timer_.start(announced);
  }
  leave_timer_.stop();
  service_manager_.stopping();
  base::log_info("{}: draining, {} request(s) are open", asked_by,
                 gateway_.counts().requests_active);
  drain_timer_.start(settings_.now()->bridge.drain_timeout);
  gateway_.drain([this] { loop_.stop(); });
}
