// What is known about a program's workers, as `status` shows it.
#pragma once

#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "pool/pool.h"

namespace admin {

// effective: the current mode, which promotion may have changed. settings: this program's.
nlohmann::json program_json(const pool::PoolStatus& program,
                            const config::ProgramSettings& settings, config::Mode effective);

// For a program's cgroup, or for the one for all programs.
nlohmann::json cgroup_json(const limits::Figures& figures);

}  // namespace admin
