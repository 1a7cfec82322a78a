// A child process as its owner has it: its pid, and how it is made to end.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "base/clock.h"
#include "loop/timer.h"
#include "worker/processes.h"

namespace worker {

// Owned by whoever answers for the process, and has none at first. Destroying it while the process
// lives kills the process group at once: only the daemon's own end does that.
class Child {
 public:
  // From a process's last word, or ours, to its exit, which it does by itself. It may wait for a
  // processor; longer only if something holds it.
  static constexpr std::chrono::seconds kExitPatience{10};

  // All run on the loop; none may destroy this.
  struct Events {
    std::function<void(const Death&)> on_death;
    // It had died before its group was killed, and is over now.
    std::function<void()> on_over;
    // It has not exited within kExitPatience, and is killed.
    std::function<void()> on_overdue;
  };

  // grace: from SIGTERM to SIGKILL.
  Child(loop::Loop& loop, Processes& processes, base::Duration grace, Events events);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // This child of the daemon's, which leads a process group. Once.
  void own(pid_t pid);
  bool is_owned() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }  // -1: none

  // SIGTERM to its group, and SIGKILL to what is left of the group after the grace time; until then
  // the pid is not reaped, so that the group's number stays its own. Once.
  void terminate();
  bool terminating() const { return grace_timer_ != nullptr; }
  base::Duration grace() const { return grace_; }

  // It is to exit by itself. One that does not is killed, and it alone: it has no request, so
  // nobody else would ever end it, and what its program left behind on purpose goes on.
  void expect_exit();
  void expect_no_exit() { exit_timer_.reset(); }

  bool is_dead() const { return dead_; }
  // It is dead, and so is its group if that was to be ended.
  bool is_over() const { return dead_ && (!terminating() || group_killed_); }

 private:
  void kill_group();

  loop::Loop& loop_;
  Processes& processes_;
  const base::Duration grace_;
  const Events events_;
  pid_t pid_ = -1;
  bool dead_ = false, group_killed_ = false;
  std::unique_ptr<loop::Timer> grace_timer_, exit_timer_;  // made only when they are needed
};

}  // namespace worker
