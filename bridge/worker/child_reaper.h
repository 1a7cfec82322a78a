// Waits for the bridge's children: programs, zygotes and workers alike.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "loop/loop.h"
#include "loop/signal_watch.h"

namespace worker {

// A child's end, as the kernel tells it once.
struct Death {
  int wait_status = 0;              // waitpid(2)
  std::chrono::microseconds cpu{};  // its own and that of the children it waited for, all its life
  // Its resident memory at its greatest. 0: not known, as it never was above the bridge's, which a
  // program that vfork() started inherits (getrusage(2), "maxrss ... preserved across execve").
  std::uint64_t peak_kib = 0;
};

// One per daemon. A pid belongs to exactly one owner, who says expect() and hears of the death
// once. Between that death and its reaping the pid cannot be given to another process; a held pid
// is not reaped, so its process group can still be signalled safely.
class ChildReaper {
 public:
  explicit ChildReaper(loop::Loop& loop);

  // on_death runs from the loop, and may call back in here.
  void expect(pid_t pid, std::function<void(const Death&)> on_death);

  bool expects(pid_t pid) const { return on_death_.contains(pid); }

  // The owner is gone: the child is still reaped, but nobody hears of it.
  void forget(pid_t pid);

  // Keeps pid from being reaped until release(), also when it dies in between.
  void hold(pid_t pid);
  void release(pid_t pid);
  // As forget() and release(), but nobody is told of anything meanwhile: for an owner that is being
  // destroyed, and others around it with it. The next death sweeps.
  void abandon(pid_t pid);

  // Whether pid is a child of this process that has not died yet. What a worker says of its own
  // pid is believed only so.
  static bool is_living_child(pid_t pid);

  // Owners that wait.
  std::size_t expected() const { return on_death_.size(); }

 private:
  void on_child_signal();
  void reap_any();
  void reap_each();
  void tell(pid_t pid, int wait_status, const rusage& used);

  loop::SignalWatch signal_;
  std::unordered_map<pid_t, std::function<void(const Death&)>> on_death_;
  std::unordered_set<pid_t> held_;
};

}  // namespace worker
