// Everything that requests share: the connections, the way to a program, the current settings.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <unordered_map>

#include "compare/comparison.h"
#include "config/settings.h"
#include "fastcgi/server_connection.h"
#include "gateway/connection.h"
#include "gateway/listener.h"
#include "gateway/page_visit.h"
#include "gateway/readiness.h"
#include "gateway/unawaited_runs.h"
#include "journal/journal.h"
#include "pool/pools.h"
#include "router/resolver.h"
#include "shadow/shadows.h"

namespace gateway {

// What `status` counts.
struct Counts {
  std::uint64_t connections_total = 0;
  std::uint64_t requests_total = 0;
  std::uint64_t requests_active = 0;
  std::uint64_t errors = 0;             // answered by the bridge itself, not by a program
  std::uint64_t requests_refused = 0;   // FCGI_OVERLOADED, FCGI_UNKNOWN_ROLE: never begun
  std::uint64_t peers_refused = 0;      // that bridge.allow, or the control socket, refused
  std::uint64_t closed_for_room = 0;    // idle connections, if others waited
  std::uint64_t closed_unfinished = 0;  // for bridge.params_timeout
  RequestTime::Counts background;       // programs that go on after their answers
};

// The settings that apply to a request that begins now.
using SettingsNow = std::function<std::shared_ptr<const config::Settings>()>;

// One per daemon. Owns listeners and connections.
class Gateway {
 public:
  // The references outlive the gateway.
  Gateway(loop::Loop& loop, pool::Pools& pools, SettingsNow settings_now);
  ~Gateway();

  // Serves fd, a listening socket. The id names it for remove_listener().
  std::uint64_t add_listener(base::UniqueFd fd, const std::string& name);
  // Who may connect from now on: admits says whether a connection, given as its descriptor, is
  // accepted. None: everybody may, and nothing is checked.
  void set_admission(std::function<bool(int fd)> admits) { admits_ = std::move(admits); }
  // Accepts no new connections from it; those that are open go on.
  void remove_listener(std::uint64_t id);

  void add_connection(base::UniqueFd fd);  // one that is open already

  // Accepts no new connections or requests; on_idle runs once all that has begun is answered.
  void drain(std::function<void()> on_idle);
  bool draining() const { return on_idle_ != nullptr; }

  // Gives a connection to another bridge; it is closed here, whether that succeeded or not.
  using PassOn = std::function<void(const base::UniqueFd&)>;
  // Like drain(), but connections are not closed: each goes to pass_on as soon as nothing is open
  // on it, those that are added later as well; on_idle runs again after them.
  void hand_over(PassOn pass_on, std::function<void()> on_idle);
  bool hands_over() const { return pass_on_ != nullptr; }
  void pass_on(const base::UniqueFd& connection) { pass_on_(connection); }
  // While accepting is held, new connections wait in the kernel's queue.
  void hold(Accepting accepting);
  const std::unordered_map<std::uint64_t, std::unique_ptr<Listener>>& listeners() const {
    return listeners_;
  }

  // For connections and requests.
  loop::Loop& loop() { return loop_; }
  pool::Pools& pools() { return pools_; }
  router::Resolver& resolver() { return *resolver_; }
  std::shared_ptr<const config::Settings> settings() { return settings_now_(); }
  // settings' env in the form that cgi needs; valid until the settings change.
  cgi::ConfiguredEnvironment configured_environment(const config::ProgramSettings& settings);
  fastcgi::ServerLimits server_limits();
  Counts& counts() { return counts_; }
  const Counts& counts() const { return counts_; }
  std::size_t connections() const { return connections_.size(); }
  void connection_gone() { sweep_.schedule(); }
  void look_after_connections();  // one has begun a request whose params are not complete
  // A param of that name is withheld from programs: logged once.
  void log_withheld(std::string_view name);
  // Ends the program of a request that was given up, and reads what it writes until it is dead.
  void end_unawaited(std::unique_ptr<pool::Run> run, base::FdPair stdout_and_stderr,
                     const std::string& label,
                     std::shared_ptr<const config::ProgramSettings> settings,
                     std::unique_ptr<journal::Entry> entry);
  // The client of a request has its whole answer and leaves; the program may run to its end.
  void let_finish(std::unique_ptr<Exchange> request);
  // What is known about the programs' arms.
  compare::Comparisons& comparisons() { return comparisons_; }
  const compare::Comparisons& comparisons() const { return comparisons_; }
  shadow::Shadows& shadows() { return shadows_; }
  journal::Journal& journal() { return journal_; }  // what is recorded about requests
  const journal::Journal& journal() const { return journal_; }
  // A request for that program is over. May promote the program, or take promotion back.
  void observe(const std::string& program, const compare::Observation& observation);
  // The shadow has compared one of that program's requests. Same effects.
  void compared(const std::string& program, compare::Match match);
  OwnAnswers& own_answers() { return own_answers_; }  // page: set once, before requests come
  std::string why_not_ready() const;                  // Readiness::why_not(), now
  // To be called when settings_now() has begun to return other settings.
  void settings_changed();

 private:
  void take(base::UniqueFd accepted);
  void sweep();
  void pace_listeners();
  bool full() const { return connections_.size() >= fitting_.connections_max; }
  void fit_descriptors(const config::BridgeSettings& bridge);
  std::size_t close_connections(std::size_t connections_max);

  loop::Loop& loop_;
  pool::Pools& pools_;
  std::vector<std::string> roots_;  // that resolver_ was made for
  std::unique_ptr<router::Resolver> resolver_;
  SettingsNow settings_now_;
  Counts counts_;
  std::unordered_map<const config::ProgramSettings*,
                     std::vector<std::pair<std::string, std::string>>>
      configured_;
  compare::Comparisons comparisons_;
  journal::Journal journal_;
  OwnAnswers own_answers_;
  shadow::Shadows shadows_;
  std::list<std::unique_ptr<UnawaitedRun>> unawaited_;
  std::list<std::unique_ptr<Epilogue>> epilogues_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Listener>> listeners_;
  std::uint64_t next_listener_id_ = 1;
  policy::DescriptorUsers fitting_;
  loop::Timer care_;  // of connections: runs while one is unfinished, or all are taken
  bool caring_ = false;
  base::TimePoint full_told_{};
  std::function<bool(int fd)> admits_;
  std::set<std::string, std::less<>> withheld_;  // already logged
  Accepting accepting_ = Accepting::on;
  std::function<void()> on_idle_;
  PassOn pass_on_;
  loop::Deferred sweep_;
};

}  // namespace gateway
