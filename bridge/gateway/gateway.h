// Everything that requests share: the connections, the way to a program, the settings of now.
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
#include "gateway/page.h"
#include "gateway/remains.h"
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
  std::uint64_t errors = 0;         // answered by the bridge itself, not by a program
  std::uint64_t peers_refused = 0;  // connections that bridge.allow does not allow
};

// Gives the settings that hold for a request that begins now.
using SettingsNow = std::function<std::shared_ptr<const config::Settings>()>;

// One per daemon. Owns listeners and connections.
class Gateway {
 public:
  // The references outlive the gateway.
  Gateway(loop::Loop& loop, pool::Pools& pools, SettingsNow settings_now);
  ~Gateway();

  // Serves fd, a listening socket. The id names it for remove_listener().
  std::uint64_t add_listener(base::UniqueFd fd, const std::string& name);
  // Who may connect from here on: says whether a connection, by its descriptor, is taken. None:
  // everybody, and nothing is asked.
  void set_admission(std::function<bool(int fd)> admits) { admits_ = std::move(admits); }
  // No new connections from there; those that are open go on.
  void remove_listener(std::uint64_t id);

  // Serves one connection that is open already.
  void add_connection(base::UniqueFd fd);

  // No new connections and no new requests; on_idle runs once everything begun is answered.
  void drain(std::function<void()> on_idle);
  bool draining() const { return on_idle_ != nullptr; }

  // For connections and requests.
  loop::Loop& loop() { return loop_; }
  pool::Pools& pools() { return pools_; }
  router::Resolver& resolver() { return *resolver_; }
  std::shared_ptr<const config::Settings> settings() { return settings_now_(); }
  // settings' env as cgi wants it; valid until the settings change.
  cgi::ConfiguredEnvironment configured_environment(const config::ProgramSettings& settings);
  fastcgi::ServerLimits server_limits();
  int dev_null() const { return dev_null_.get(); }
  Counts& counts() { return counts_; }
  const Counts& counts() const { return counts_; }
  std::size_t connections() const { return connections_.size(); }
  void connection_gone() { sweep_.schedule(); }
  // A param of that name does not reach programs: told of once.
  void tell_kept_back(std::string_view name);
  // Ends the program of a request that is given up, and reads what it prints until it is dead.
  void bury(std::unique_ptr<pool::Run> run, base::UniqueFd stdout_end, base::UniqueFd stderr_end,
            const std::string& label);
  // The client of a request has its whole answer and leaves; the program may come to its end.
  void let_finish(std::unique_ptr<Request> request);
  // What is known of the programs' arms.
  compare::Comparisons& comparisons() { return comparisons_; }
  const compare::Comparisons& comparisons() const { return comparisons_; }
  shadow::Shadows& shadows() { return shadows_; }
  // What is written down of requests.
  journal::Journal& journal() { return journal_; }
  const journal::Journal& journal() const { return journal_; }
  // A request of that program is over. May promote the program, or bring it back.
  void observe(const std::string& program, const compare::Observation& observation);
  // The shadow has compared one of that program's requests. The same.
  void compared(const std::string& program, compare::Match match);
  // Answers what is below bridge.page.path; without one nothing is. Set once, before requests come.
  void set_page(PageHandler handler) { page_ = std::move(handler); }
  const PageHandler& page() const { return page_; }
  // To be called when settings_now() has begun to give others.
  void settings_changed();

 private:
  void take(base::UniqueFd accepted);
  void sweep();
  void pace_listeners();

  loop::Loop& loop_;
  pool::Pools& pools_;
  std::vector<std::string> roots_;  // that resolver_ was made for
  std::unique_ptr<router::Resolver> resolver_;
  SettingsNow settings_now_;
  base::UniqueFd dev_null_;
  Counts counts_;
  std::unordered_map<const config::ProgramSettings*,
                     std::vector<std::pair<std::string, std::string>>>
      configured_;
  compare::Comparisons comparisons_;
  journal::Journal journal_;
  PageHandler page_;
  shadow::Shadows shadows_;
  std::list<std::unique_ptr<Remains>> remains_;
  std::list<std::unique_ptr<Epilogue>> epilogues_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Listener>> listeners_;
  std::uint64_t next_listener_id_ = 1;
  std::function<bool(int fd)> admits_;
  std::set<std::string, std::less<>> kept_back_;  // told of
  std::function<void()> on_idle_;
  loop::Deferred sweep_;
};

}  // namespace gateway
