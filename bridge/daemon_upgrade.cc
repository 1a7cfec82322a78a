// How a daemon hands over to another one, and takes over from one: upgrade/handover.h has
// the order of events.
#include <algorithm>

#include "base/log.h"
#include "daemon.h"

namespace {
// How often to check while programs are warmed up for an upgrade.
constexpr std::chrono::milliseconds kWarmthLooks{10};
}  // namespace

nlohmann::json Daemon::upgrade(admin::ControlClient* client) {
  if (gateway_.own_answers().readiness.leaving()) return admin::refused("it is about to end");
  if (upgrade_ != nullptr) return admin::refused("an upgrade is under way");
  const bool has_control = control_ != nullptr;
  upgrade::Successor::Terms terms{.binary = origin_.binary,
                                  .words = origin_.words,
                                  .listeners = {},
                                  .control_path = has_control ? control_->path() : "",
                                  .control = has_control ? control_->socket().get() : -1,
                                  .programs = pools_.warm_notes()};
  for (const auto& [id, listener] : gateway_.listeners()) {
    // An attached socket belongs to a process of its web server, which attaches it again.
    const bool attached =
        std::ranges::any_of(attached_, [id = id](const auto& entry) { return entry.second == id; });
    if (!attached) terms.listeners.emplace_back(listener->name(), listener->fd().get());
  }
  upgrade_ = std::make_unique<upgrade::Successor>(
      loop_, processes_,
      upgrade::Successor::Events{[this] { hand_over(); },
                                 [this](const std::string& why) { upgrade_failed(why); }});
  const auto started = upgrade_->start(terms);
  if (!started) {
    upgrade_over_.schedule();
    return admin::refused("cannot start " + origin_.binary + ": " + started.error().message);
  }
  base::log_info("upgrade: {} starts as pid {}", origin_.binary, upgrade_->pid());
  upgrade_client_ = client;
  return nullptr;
}

void Daemon::upgrade_by_signal() {
  const nlohmann::json refusal = upgrade(nullptr);
  if (refusal.is_null()) return;
  base::log_error("SIGUSR2: no upgrade, this process goes on: {}",
                  admin::text_of(refusal, "error"));
}

void Daemon::upgrade_failed(const std::string& why) {
  base::log_error("upgrade: the new process does not take over: {}; this one goes on", why);
  if (upgrade_client_ != nullptr) {
    std::exchange(upgrade_client_, nullptr)
        ->send(admin::refused("the new process does not take over: " + why));
  }
  upgrade_over_.schedule();
}

// The new bridge has warm programs and waits for the word to serve.
void Daemon::hand_over() {
  if (gateway_.draining()) return;
  if (const auto told = upgrade_->take_over(); !told) return upgrade_failed(told.error().message);
  service_manager_.hand_over_to(upgrade_->pid());
  base::log_info("upgrade: pid {} takes over, {} request(s) are open here", upgrade_->pid(),
                 gateway_.counts().requests_active);
  if (upgrade_client_ != nullptr) {
    std::exchange(upgrade_client_, nullptr)->send({{"ok", true}, {"pid", upgrade_->pid()}});
  }
  socket_files_.clear();
  if (control_ != nullptr) control_->keep_file();
  control_.reset();
  drain_timer_.start(settings_.now()->bridge.drain_timeout);
  // The bridge before this one may still have requests. It passes their connections to this process
  // and to no other, so they are passed on from here.
  gateway_.hand_over([this](const base::UniqueFd& fd) { upgrade_->pass_on(fd); },
                     [this] {
                       if (predecessor_ == nullptr || predecessor_->ended()) loop_.stop();
                     });
}

base::Status Daemon::take_over(base::UniqueFd channel) {
  auto received = upgrade::receive_inheritance(channel.get());
  if (!received) return received.error();
  upgrade::Inheritance inheritance = received.take();
  gateway_.hold(gateway::Accepting::off);
  prepare_limits();
  for (gateway::InheritedSocket& socket : inheritance.listeners) {
    if (!is_given_up(socket.name)) gateway_.add_listener(std::move(socket.fd), socket.name);
  }
  const auto settings = settings_.now();
  if (const auto listening = listen(settings->bridge); !listening) return listening.error();
  if (inheritance.control_path == settings->bridge.control) {
    inherited_control_ = std::move(inheritance.control);
  } else {
    auto control = listen_for_commands(settings->bridge.control);
    if (!control) return control.error();
    inherited_control_ = control.take();
    old_files_.emplace_back(inheritance.control_path);
  }
  predecessor_ = std::make_unique<upgrade::Predecessor>(
      loop_, std::move(channel),
      upgrade::Predecessor::Events{
          [this] { begin_serving(); },
          [this](base::UniqueFd fd) { gateway_.add_connection(std::move(fd)); },
          [this](const std::string& why) {
            base::log_error("upgrade: the old bridge did not hand over: {}", why);
            failed_ = true;
            loop_.stop();
          },
          [this] { gateway_.connection_gone(); }});  // the last of those that it could pass on
  for (const pool::WarmNote& note : inheritance.programs) {
    refresh(note.program, note.environment, note.learned);
  }
  prewarm();
  warm_by_ = loop_.now() + gateway::Readiness::kPatience;
  warmth_timer_.start(kWarmthLooks);
  return base::Done{};
}

// Whether a socket of the old bridge was bound for an address that is no longer in the settings.
bool Daemon::is_given_up(const std::string& name) {
  const auto address = config::parse_listen_address(name);
  if (!address) return false;  // from systemd or similar
  const auto settings = settings_.now();
  const bool wanted =
      std::ranges::any_of(settings->bridge.all_addresses(),
                          [&name](const auto& one) { return config::to_string(one) == name; });
  if (wanted) return false;
  base::log_info("upgrade: {} is no longer in the settings: nobody listens there any more", name);
  if (address.value().kind == config::ListenAddress::Kind::unix_socket) {
    old_files_.emplace_back(address.value().path);
  }
  return true;
}

void Daemon::look_whether_warm() {
  const bool warming = std::ranges::any_of(pools_.status(), &pool::PoolStatus::is_warming);
  if (warming && loop_.now() < warm_by_) return warmth_timer_.start(kWarmthLooks);
  predecessor_->say_ready();
}

void Daemon::begin_serving() {
  socket_files_.insert(socket_files_.end(), inherited_files_.begin(), inherited_files_.end());
  for (const gateway::SocketFile& file : old_files_) file.remove();
  serve_control(std::move(inherited_control_));
  service_manager_.ready(ServiceManager::Start::taken_over);
  gateway_.hold(gateway::Accepting::on);
  base::log_info("upgrade: pid {} serves from here on", ::getpid());
}
