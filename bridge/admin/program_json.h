// What is known of a program's workers, as `status` shows it.
#pragma once

#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "pool/pool.h"

namespace admin {

// effective: the mode of now, which promotion may have moved. settings: of this program.
nlohmann::json program_json(const pool::PoolStatus& program,
                            const config::ProgramSettings& settings, config::Mode effective);

// Of a program's cgroup, or of the one for all.
nlohmann::json cgroup_json(const limits::Figures& figures);

}  // namespace admin
