// When a worker that stays for one request after another has served long enough.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "config/program_settings.h"

namespace policy {

enum class WornOut { no, by_requests, by_age };

// The part of workers.max_requests and max_age that this worker gets, from 1 down to what
// workers.recycle_spread leaves: workers that were forked in one moment are not replaced in one.
// The same worker of the same pool always gets the same.
double part_of_limits(std::uint64_t worker_id, double recycle_spread);

// Its own limits: never more than what is set, 0 only if that is.
unsigned own_max_requests(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits);
base::Duration own_max_age(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits);

// served: requests; age: since it was forked.
WornOut worn_out(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits,
                 std::uint64_t served, base::Duration age);

}  // namespace policy
