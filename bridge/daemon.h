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
#include "limits/cgroups.h"
#include "limits/identities.h"
#include "limits/peers.h"
#include "loop/loop.h"
#include "loop/signal_watch.h"
#include "pool/pools.h"
#include "service_manager.h"
#include "upgrade/predecessor.h"
#include "upgrade/successor.h"
#include "worker/child_reaper.h"

// Binds the control socket. An empty path: there is none.
base::Result<base::UniqueFd> listen_for_commands(const std::string& path);

class Daemon {
 public:
  // How this process was started.
  struct Origin {
    std::string binary;              // the file that an upgrade starts,
    std::vector<std::string> words;  // and its command
    std::string settings_file;       // watched; empty: there is none
  };

  // adapters: the folder of the adapters.
  Daemon(const Origin& origin, config::Settings settings, const std::string& adapters);
  ~Daemon();

  // Binds what the settings ask for, and takes over the sockets in inherited. Nothing is served
  // before; on failure nothing stays bound.
  base::Status start(std::vector<gateway::InheritedSocket> inherited);

  // The same for a bridge that takes over from one that is still running, through channel: makes
  // programs warm, and accepts no connections until it is told to.
  base::Status take_over(base::UniqueFd channel);

  // Serves until it is drained or stopped. Returns the exit code.
  int run();

 private:
  base::Status listen(const config::BridgeSettings& bridge);
  void prepare_limits();
  void use_identities();
  bool admits(const limits::PeerRules& rules, int fd);
  void serve_control(base::UniqueFd socket);
  std::optional<std::string> why_refused(int fd, const std::string& command);
  std::map<std::string, admin::ControlServer::Command> commands();
  nlohmann::json reload();
  // Returns why it was refused, if it was.
  std::optional<std::string> switch_mode(const std::string& program, const std::string& mode);
  nlohmann::json attach(admin::ControlClient& client, base::UniqueFd fd);
  void detach(admin::ControlClient& client);
  void settings_changed();
  base::Status reopen(const char* asked_by);
  std::vector<std::string> prewarm();  // returns the programs
  // announced: for how long before that it says (bridge.health) that it is about to end, and still
  // serves.
  void drain(const char* asked_by, base::Duration announced = {});
  // Begins to warm up what is at path. Returns the program; "" if there is none.
  std::string refresh(const std::string& path, std::string_view environment,
                      const std::vector<std::string>& learned);

  // An upgrade, from the old side and from the new side. client: the one that asked for it and
  // waits; nullptr: a signal did. Returns nullptr if the upgrade is under way.
  nlohmann::json upgrade(admin::ControlClient* client);
  void upgrade_by_signal();
  void upgrade_failed(const std::string& why);
  void hand_over();
  bool is_given_up(const std::string& name);
  void look_whether_warm();
  void begin_serving();

  loop::Loop loop_;
  worker::ChildReaper processes_;
  limits::Identities identities_;
  limits::Cgroups cgroups_;
  pool::Pools pools_;
  admin::SettingsKeeper settings_;
  gateway::Gateway gateway_;
  admin::Page page_;
  std::unique_ptr<admin::ControlServer> control_;
  std::map<admin::ControlClient*, std::uint64_t> attached_;  // listener of an `attach` that lives
  std::vector<gateway::SocketFile> socket_files_;            // to be removed at the end
  const std::vector<std::string> web_servers_ = gateway::web_server_addresses();
  base::TimePoint peer_told_{};  // when a refused peer was last logged
  bool failed_ = false;          // it ends without ever having served
  const Origin origin_;
  ServiceManager service_manager_;
  std::unique_ptr<upgrade::Successor> upgrade_;
  admin::ControlClient* upgrade_client_ = nullptr;  // the one that asked for it and waits
  std::unique_ptr<upgrade::Predecessor> predecessor_;
  // From the bridge that this one takes over from, until this one serves: its control socket, the
  // files of its listening sockets, and those of its files that the settings no longer need.
  base::UniqueFd inherited_control_;
  std::vector<gateway::SocketFile> inherited_files_, old_files_;
  base::TimePoint warm_by_{};  // the latest time to report that it is ready
  loop::Timer warmth_timer_;
  loop::Deferred upgrade_over_;
  loop::Timer leave_timer_, drain_timer_;
  loop::SignalWatch on_term_, on_int_, on_quit_, on_hup_, on_usr1_, on_usr2_;
};
