// What `cgibridge status` shows, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "admin/comparison_json.h"
#include "admin/settings_keeper.h"
#include "gateway/gateway.h"
#include "pool/pools.h"

namespace admin {

// Which part of the status is wanted.
struct StatusScope {
  Detail detail = Detail::full;
  std::string program;   // the path of the only program; empty: all
  std::size_t most = 0;  // only this many programs, those with the most requests; 0: all
};

// The status: "bridge" with the daemon's own figures, "programs" with one entry per program, by
// path.
nlohmann::json status_json(gateway::Gateway& gateway, const pool::Pools& pools,
                           const StatusScope& scope = {});

// Which settings file is in force, for the status as well.
nlohmann::json settings_json(const SettingsKeeper& settings);

}  // namespace admin
