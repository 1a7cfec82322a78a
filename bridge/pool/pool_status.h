// What a pool shows about itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "limits/cgroup_files.h"
#include "policy/retirements.h"
#include "policy/rewind_record.h"
#include "pool/warm_share.h"
#include "pool/workers.h"

namespace pool {

// What `status` says about a program.
struct PoolStatus {
  std::string program;
  std::string home;  // the program whose settings hold: itself, or the one that executes it
  std::string name;
  config::Mode mode;
  config::Reset reset_asked;  // according to the settings
  config::Reset reset;        // what its workers really do, if it is warm; otherwise reset_asked
  std::string reset_reason;   // why it is not reset_asked
  std::string level;          // "linked", "compiled", "none" (classic), "warming"
  std::string level_reason;   // why it is not deeper
  // What failed for the generation that serves, and for a later one that could not take over, and
  // why, in order.
  std::vector<std::string> failed_steps;
  std::uint64_t generation = 0;
  std::uint64_t newest_generation = 0;  // greater while another one is about to take over
  std::string sandbox;                  // how it is enforced; empty: it has none
  unsigned idle = 0, busy = 0, starting = 0, returning = 0;
  std::size_t waiting = 0;
  bool waits_for_place = false;  // for a place of bridge.workers_max
  // Time until a request makes the bridge try again to make it warm, or deeper; none if that is not
  // due for this program.
  std::optional<base::Duration> retry_in;
  pid_t zygote_pid = -1;  // -1: it has none
  std::vector<pid_t> worker_pids;
  std::vector<WorkerStatus> worker_list;
  std::vector<std::string> learned;  // modules loaded before the checkpoint, besides preload
  std::uint64_t requests = 0;        // started
  std::uint64_t classic = 0;         // of them, by fork and exec
  std::uint64_t persistent = 0;      // of them, by a warm worker
  std::uint64_t refused = 0;         // queue full, waited too long, could not be started
  std::uint64_t refused_full = 0;    // of these, because of queue.max
  std::uint64_t refused_late = 0;    // of these, because of queue.timeout
  std::uint64_t failed = 0;          // ended by a signal or with an exit code that is not 0
  std::uint64_t over_cpu_time = 0;   // ended by the kernel because of limits.cpu_time
  std::uint64_t over_file_size = 0;  // and because of limits.file_size
  std::uint64_t started_anew = 0;    // because the level was wrong for them
  std::uint64_t given_back = 0;      // by a worker that ended before it began them
  std::uint64_t misfits = 0;         // ran classic: other values than the zygote read at its start
  std::string misfit_name;           // by which variable, for the last of them
  WarmShare warm;                    // of the requests that ended
  const policy::Retirements* retirements = nullptr;  // valid as long as the pool lives
  const policy::RewindRecord* rewinds = nullptr;
  std::optional<limits::Figures> cgroup;  // what its processes use together, if it has one

  // Whether no warm worker of it could take a request yet, but one soon will.
  bool is_warming() const { return level == "warming" || (starting > 0 && idle == 0); }
};

}  // namespace pool
