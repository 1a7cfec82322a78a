// What `cgibridge status` shows, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "gateway/gateway.h"
#include "pool/pools.h"

namespace admin {

// The whole status: "bridge" with the daemon's own figures, "programs" with one entry a program.
nlohmann::json status_json(const gateway::Gateway& gateway, const pool::Pools& pools);

// The same as a table for people.
std::string status_table(const nlohmann::json& status);

}  // namespace admin
