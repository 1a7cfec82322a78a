// A worker, and what its pool knows of it.
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

class Run;

struct Place {
  std::unique_ptr<worker::Worker> worker;
  upstream::FastcgiWorker* by_fastcgi = nullptr;  // the same, if it speaks that
  ZygoteId zygote{};                              // all zero: launched by the bridge
  compare::Arm arm = compare::Arm::classic;
  Run* run = nullptr;
  base::TimePoint since = base::Clock::now();  // of its fork, or of what it does behind a request
  base::TimePoint born = base::Clock::now();
  bool heavy = false;  // above workers.max_memory when it was last looked at
};

// How a worker with this reset answers.
compare::Arm arm_of(config::Reset reset);
// Whether its process ends with its request.
bool exits_behind_request(compare::Arm arm);

// Why a worker takes no further request, though it could.
struct Relief {
  std::uint32_t retirement;
  std::string why;
};
// Of one that has no request and stays. Reads its memory only if it was found heavy.
std::optional<Relief> relief_of(const Place& place, const config::ProgramSettings::Workers& limits);

// Looks whether it has more memory than it may. One that rewinds is looked at only without a
// request: what a request takes is put back behind it.
void look_at_memory(Place& place, const config::ProgramSettings::Workers& limits);

// Whether it died, with nothing to do, so soon after its start that another would do the same.
bool died_young(const worker::Worker& worker);

}  // namespace pool
