// A child process from its owner's side: its pid, and how it is made to end.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/clock.h"
#include "loop/timer.h"
#include "worker/processes.h"

namespace worker {

// What is reported about a child. All run on the loop; none may destroy it.
class ChildOwner {
 public:
  virtual void on_death(const Death& death) = 0;
  // It died before its group was killed; now the group is killed, too.
  virtual void on_over() = 0;
  // It did not exit within Child::kExitPatience, and is killed when this returns.
  virtual void on_overdue() = 0;

 protected:
  ~ChildOwner() = default;
};

// Belongs to the object that answers for the process; at first there is no process. Destroying it
// while the process lives kills the process group at once: this happens only when the daemon itself
// ends.
class Child {
 public:
  // How long a process has to exit by itself after its last message or ours. It may have to wait
  // for a processor; it takes longer than this only if something holds it.
  static constexpr std::chrono::seconds kExitPatience{10};

  // grace: time between SIGTERM and SIGKILL.
  Child(loop::Loop& loop, Processes& processes, base::Duration grace, ChildOwner& owner);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // pid is a child of the daemon that leads a process group. To be called once.
  void own(pid_t pid);
  bool is_owned() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }  // -1: none

  // Sends SIGTERM to its group, and after the grace time SIGKILL to what is left of the group.
  // Until then the pid is not reaped, so that the group's number cannot be reused. To be called
  // once.
  void terminate();
  bool terminating() const { return grace_timer_ != nullptr; }
  base::Duration grace() const { return grace_; }

  // The process is expected to exit by itself. If it does not, it alone is killed: it has no
  // request, so nobody else would ever end it. What its program left running on purpose goes on.
  void expect_exit();
  void expect_no_exit() { exit_timer_.reset(); }

  bool is_dead() const { return dead_; }
  // Whether it is dead and, if its group was to be ended, the group is, too.
  bool is_over() const { return dead_ && (!terminating() || group_killed_); }

 private:
  void kill_group();

  loop::Loop& loop_;
  Processes& processes_;
  const base::Duration grace_;
  ChildOwner& owner_;
  pid_t pid_ = -1;
  bool dead_ = false, group_killed_ = false;
  std::unique_ptr<loop::Timer> grace_timer_, exit_timer_;  // made only when needed
};

}  // namespace worker
