// The composition root: everything that `cgibridge serve` consists of, wired by hand.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "admin/control_server.h"
#include "admin/page.h"
#include "admin/settings_keeper.h"
#include "gateway/gateway.h"
#include "gateway/listen_socket.h"
#include "limits/identities.h"
#include "limits/peers.h"
#include "loop/loop.h"
#include "loop/signal_watch.h"
#include "pool/pools.h"
#include "worker/child_reaper.h"

class Daemon {
 public:
  // config_path: the settings file that settings were read from; it is watched. adapters: the
  // folder of the adapters.
  Daemon(const std::string& config_path, config::Settings settings, const std::string& adapters);
  ~Daemon();

  // Binds what the settings ask for and takes inherited over. Nothing is served before; on
  // failure nothing stays bound.
  base::Status start(std::vector<gateway::InheritedSocket> inherited);

  // Serves until it was drained or stopped. The exit code.
  int run();

 private:
  base::Status listen(const config::BridgeSettings& bridge);
  void use_identities();
  bool admits(const limits::PeerRules& rules, int fd);
  std::map<std::string, admin::ControlServer::Command> commands();
  nlohmann::json reload();
  // Why not, if it is refused.
  std::optional<std::string> switch_mode(const std::string& program, const std::string& mode);
  nlohmann::json attach(admin::ControlClient& client, base::UniqueFd fd);
  void detach(admin::ControlClient& client);
  void settings_changed();
  base::Status reopen(const char* asked_by);
  void prewarm();
  void drain(const char* asked_by);

  loop::Loop loop_;
  worker::ChildReaper reaper_;
  limits::Identities identities_;
  pool::Pools pools_;
  admin::SettingsKeeper settings_;
  gateway::Gateway gateway_;
  admin::Page page_;
  std::unique_ptr<admin::ControlServer> control_;
  std::map<admin::ControlClient*, std::uint64_t> attached_;  // listener of an `attach` that lives
  std::vector<std::string> socket_files_;                    // to be removed at the end
  const std::vector<std::string> web_servers_ = gateway::web_server_addresses();
  base::TimePoint peer_told_{};  // when one was refused in the log
  bool draining_ = false;
  loop::Timer drain_timer_;
  loop::SignalWatch on_term_, on_int_, on_hup_, on_usr1_;
};
