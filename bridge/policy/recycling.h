// When a worker that serves one request after another has served long enough.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "config/program_settings.h"

namespace policy {

enum class WornOut { no, by_requests, by_age };

// How much earlier a worker may be replaced than workers.max_requests and max_age say, as a
// fraction of them: workers that were forked at one moment must not all be replaced at one moment.
inline constexpr double kRecycleSpread = 0.1;

// The fraction of both limits that this worker gets, from 1 - kRecycleSpread to 1. The same
// worker_id always gets the same fraction.
double part_of_limits(std::uint64_t worker_id);

// The worker's own limits: never more than the setting, and 0 only if the setting is 0.
unsigned own_max_requests(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits);
base::Duration own_max_age(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits);

// served: how many requests; age: the time since it was forked.
WornOut worn_out(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits,
                 std::uint64_t served, base::Duration age);

}  // namespace policy
