// The real machine's processes, as children of this process.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "loop/loop.h"
#include "loop/signal_watch.h"
#include "loop/timer.h"
#include "worker/processes.h"

namespace worker {

// Receives SIGCHLD, and waits for every child that ends.
class ChildReaper final : public Processes {
 public:
  explicit ChildReaper(loop::Loop& loop);

  base::Result<pid_t> launch(const LaunchSpec& spec) override { return worker::launch(spec); }
  void signal_group(pid_t leader, int signal_number) override;
  void kill_one(pid_t pid) override;
  void expect(pid_t pid, std::function<void(const Death&)> on_death) override;
  bool expects(pid_t pid) const override { return on_death_.contains(pid); }
  void forget(pid_t pid) override;
  void hold(pid_t pid) override;
  void release(pid_t pid) override;
  void abandon(pid_t pid) override;
  bool is_living_child(pid_t pid) const override;
  Senders senders() const override { return Senders::named; }

 private:
  void on_child_signal();
  void reap_any();
  void reap_each();
  void tell(pid_t pid, int wait_status, const rusage& used);

  loop::Deferred look_;
  loop::Timer rest_;  // for those that are not looked at in this turn
  loop::SignalWatch signal_;
  std::unordered_map<pid_t, std::function<void(const Death&)>> on_death_;
  std::unordered_set<pid_t> held_;
};

}  // namespace worker
