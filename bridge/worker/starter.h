// What makes the warm workers of one version of a program.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "config/settings.h"
#include "limits/cgroup.h"
#include "limits/terms.h"

namespace worker {

// How a warm worker comes into being. forked: a zygote forks it. ahead: the program cannot be
// forked at its checkpoint, so a process is started ahead of need for each worker, and becomes that
// worker.
enum class Making { forked, ahead };

// The program as it is launched towards its checkpoint. environment must hold LD_PRELOAD and
// MESSAGE_CHECKPOINT_VARIABLE.
struct WarmProgram {
  std::string file;               // absolute path of the file to execute
  std::vector<std::string> argv;  // including argv[0]
  std::string environment;        // "K=V\0K=V\0..."
  std::uint32_t environment_count = 0;
  std::string cwd;
  limits::Terms terms;
};

struct StartTerms {
  std::string label;                 // names the program in the log
  base::Duration start_timeout;      // from launch to the checkpoint
  config::Reset reset;               // what workers are asked to do; the environment says the same
  std::uint64_t stderr_max = 0;      // that may be logged in a minute; 0: no limit
  limits::Cgroup* cgroup = nullptr;  // for its processes; outlives the starter
};

// What a comparison of a worker with its zygote came to.
struct Verdict {
  std::uint32_t pages = 0;   // of memory, compared; 0: the zygote may not read its workers'
  std::string difference{};  // the first ones that were found, or empty
};

// What its owner is told about a starter. All run on the loop; none may destroy the starter.
class StarterOwner {
 public:
  virtual void on_ready() = 0;  // fork_worker() may be called
  // There will be no more workers. why: a sentence that includes what was written to standard
  // error. Called once.
  virtual void on_gone(const std::string& why) = 0;
  virtual void on_note(std::uint32_t kind, const std::string& text) = 0;

 protected:
  ~StarterOwner() = default;
};

// What is answered to those who have workers made and compared. The same holds as for StarterOwner.
class StarterClient {
 public:
  // That worker will not come into being; its channel ends as well.
  virtual void on_fork_failed(std::uint64_t worker_id, const std::string& why) = 0;
  // A worker was compared with its zygote, as verify_worker() asked.
  virtual void on_verified(std::uint64_t look_id, const Verdict& verdict) = 0;

 protected:
  ~StarterClient() = default;
};

// Owned by a generation. Destroying it gives up every process that is not a worker yet.
class Starter {
 public:
  virtual ~Starter() = default;

  virtual base::Status start(const WarmProgram& program) = 0;

  // Has a worker made that listens on channel_end. Only once ready.
  virtual base::Status fork_worker(std::uint64_t worker_id, base::UniqueFd channel_end) = 0;

  // Has that worker, which waits in its reset state, compared with its zygote. Only once ready.
  // look_id: an id that no earlier look had.
  virtual base::Status verify_worker(std::uint64_t look_id, pid_t worker_pid) = 0;

  // A process that is not a worker: the zygote, or the one waiting ahead of need; -1 if there is
  // none.
  virtual pid_t pid() const = 0;
  // Known once ready. start_time: from launch to ready.
  virtual config::Level level() const = 0;
  virtual base::Duration start_time() const = 0;
  // What workers really do, known once ready, and why that is less than what was asked for.
  virtual config::Reset reset() const = 0;
  virtual const std::string& reset_reason() const = 0;
};

// A starter that is a process of the program itself, and can become its worker.
class Forerunner : public Starter {
 public:
  // Becomes that worker, which reports so on channel_end. Only once ready; no event follows.
  virtual base::Status become_worker(std::uint64_t worker_id, base::UniqueFd channel_end) = 0;
};

}  // namespace worker
