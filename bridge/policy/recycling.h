// When a worker that stays for one request after another has served long enough.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "config/program_settings.h"

namespace policy {

enum class WornOut { no, by_requests, by_age };

// How much sooner than workers.max_requests and max_age say a worker may be replaced, as a part of
// them: workers that were forked in one moment are not replaced in one moment.
inline constexpr double kRecycleSpread = 0.1;

// The part of both limits that this worker gets, from 1 down to 1 - kRecycleSpread. The same worker
// of the same pool always gets the same.
double part_of_limits(std::uint64_t worker_id);

// Its own limits: never more than what is set, 0 only if that is.
unsigned own_max_requests(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits);
base::Duration own_max_age(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits);

// served: requests; age: since it was forked.
WornOut worn_out(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits,
                 std::uint64_t served, base::Duration age);

}  // namespace policy
