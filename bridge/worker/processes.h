// The bridge's children: how they begin, are signalled, and are waited for.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>

#include "worker/launch.h"

namespace worker {

// A child's end, as the kernel tells it once.
struct Death {
  int wait_status = 0;              // waitpid(2)
  std::chrono::microseconds cpu{};  // its own and that of the children it waited for, all its life
  // Its resident memory at its greatest. 0: not known, as it never was above the bridge's, which a
  // program that vfork() started inherits (getrusage(2), "maxrss ... preserved across execve").
  std::uint64_t peak_kib = 0;
};

// Whether the kernel names the process that sent a packet. It does for children of the machine's;
// those of a test are all one process.
enum class Senders { named, unnamed };

// One per daemon; outlives everything that has a child. The machine's (ChildReaper), or a test's. A
// pid belongs to exactly one owner, who says expect() and hears of the death once. Between that
// death and its reaping the pid cannot be given to another process; a held pid is not reaped, so
// its process group can still be signalled safely.
class Processes {
 public:
  virtual ~Processes() = default;

  // As worker::launch(): the process belongs to the caller, who says expect() next.
  virtual base::Result<pid_t> launch(const LaunchSpec& spec) = 0;

  // To every process of the group that this child leads. The child must not have been reaped.
  virtual void signal_group(pid_t leader, int signal_number) = 0;

  // SIGKILL to this child alone: what it left in its group goes on.
  virtual void kill_one(pid_t pid) = 0;

  // on_death runs from the loop, and may call back in here.
  virtual void expect(pid_t pid, std::function<void(const Death&)> on_death) = 0;
  virtual bool expects(pid_t pid) const = 0;

  // The owner is gone: the child is still reaped, but nobody hears of it.
  virtual void forget(pid_t pid) = 0;

  // Keeps pid from being reaped until release(), also when it dies in between.
  virtual void hold(pid_t pid) = 0;
  virtual void release(pid_t pid) = 0;
  // As forget() and release(), but no callback runs meanwhile: for an owner that is being destroyed
  // together with others. The pid is reaped with the next death.
  virtual void abandon(pid_t pid) = 0;

  // Whether pid is a child of this process that has not died yet. What a worker says of its own
  // pid is believed only so.
  virtual bool is_living_child(pid_t pid) const = 0;

  virtual Senders senders() const = 0;
};

}  // namespace worker
