// A worker, and what its pool knows about it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "compare/arm.h"
#include "config/program_settings.h"
#include "pool/generation.h"
#include "upstream/fastcgi_worker.h"
#include "worker/worker.h"

namespace pool {

class Turn;

struct Place {
  std::unique_ptr<worker::Worker> worker;
  upstream::FastcgiWorker* by_fastcgi = nullptr;  // the same worker, if it speaks FastCGI
  ZygoteId zygote{};                              // all zero: launched by the bridge
  compare::Arm arm = compare::Arm::classic;
  Turn* turn = nullptr;
  base::TimePoint born{};
  base::TimePoint since{};    // when its fork began, or what it does after a request
  unsigned behaviours = 0;    // policy::kOrdinary and the like, since it was last compared
  std::uint64_t look_id = 0;  // of the comparison with its zygote under way; 0: none
  bool started_anew = false;  // its request was, because the level was wrong for it
  bool loads = false;         // its request has loaded something
  std::string executed = {};  // what it executed instead, in its request: executed_instead()
  bool heavy = false;         // above workers.max_memory when it was last looked at
  // Our ends of the pipes that it has kept for a request without a body, if any: empty, and held by
  // nobody else.
  base::FdPair kept = {};
};

// What `status` says of a worker.
struct WorkerStatus {
  pid_t pid = -1;
  std::string_view state;  // as from worker::to_string(WorkerState)
  compare::Arm arm = compare::Arm::classic;
  std::uint64_t served = 0;  // requests that came to their end
  base::Duration in_state{};
};

// How a worker with this reset answers.
compare::Arm arm_of(config::Reset reset);
// Whether a worker's process ends with its request.
bool exits_after_request(compare::Arm arm);

// Why a worker takes no further request although it could.
struct Replacement {
  std::uint32_t retirement;
  std::string why;
};
// For a worker that has no request and stays. Reads its memory only if it was found heavy.
std::optional<Replacement> replacement_of(const Place& place,
                                          const config::ProgramSettings::Workers& limits,
                                          base::TimePoint now);

// Checks whether it has more memory than allowed. A worker that rewinds is checked only without a
// request: the rewind gives back what a request takes.
void look_at_memory(Place& place, const config::ProgramSettings::Workers& limits);

// The file that process pid executes now, if it is no longer the one with which its zygote forked
// it; empty if it is, if the process is ending, or if the bridge may not look.
std::string executed_instead(pid_t pid, pid_t zygote);

// Whether it died, with nothing to do, so soon after its start that another one would do the same.
bool died_young(const worker::Worker& worker, base::TimePoint now);

}  // namespace pool
