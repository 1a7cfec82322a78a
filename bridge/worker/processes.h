// The bridge's children: how they are started, signalled, and waited for.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>

#include "worker/launch.h"

namespace worker {

// A child's end, as the kernel reports it, once.
struct Death {
  int wait_status = 0;              // waitpid(2)
  std::chrono::microseconds cpu{};  // its own and of the children it waited for, all its life
  // Its greatest resident memory. 0: not known, because it never exceeded the bridge's own, which a
  // program started with vfork() inherits (getrusage(2), "maxrss ... preserved across execve").
  std::uint64_t peak_kib = 0;
};

// Whether the kernel names the process that sent a packet. It does for real children; in a test,
// they are all one process.
enum class Senders { named, unnamed };

// There is one per daemon; it outlives everything that has a child. It is the real one
// (ChildReaper), or a test's. A pid belongs to exactly one owner, which calls expect() and is told
// about the death once. Between that death and its reaping the pid cannot be given to another
// process; a held pid is not reaped, so its process group can still be signalled safely.
class Processes {
 public:
  virtual ~Processes() = default;

  // Like worker::launch(): the process belongs to the caller, which must call expect() next.
  virtual base::Result<pid_t> launch(const LaunchSpec& spec) = 0;

  // Signals every process of the group that this child leads. The child must not have been reaped.
  virtual void signal_group(pid_t leader, int signal_number) = 0;

  // Sends SIGKILL to this child alone: processes that it left in its group go on.
  virtual void kill_one(pid_t pid) = 0;

  // on_death runs from the loop, and may call functions of this object.
  virtual void expect(pid_t pid, std::function<void(const Death&)> on_death) = 0;
  virtual bool expects(pid_t pid) const = 0;

  // The owner is gone: the child is still reaped, but nobody is told.
  virtual void forget(pid_t pid) = 0;

  // Keeps pid from being reaped until release(), even if it dies in between.
  virtual void hold(pid_t pid) = 0;
  virtual void release(pid_t pid) = 0;
  // Like forget() and release(), but no callback runs meanwhile: for an owner that is destroyed
  // together with others. The pid is reaped at the next death.
  virtual void abandon(pid_t pid) = 0;

  // Whether pid is a child of this process that has not died yet. What a worker says about its own
  // pid is believed only if this is true.
  virtual bool is_living_child(pid_t pid) const = 0;

  virtual Senders senders() const = 0;
};

}  // namespace worker
