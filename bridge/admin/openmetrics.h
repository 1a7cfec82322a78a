// The figures of the bridge and of all programs, for Prometheus and similar tools.
#pragma once

#include <string>
#include <string_view>

#include "gateway/gateway.h"
#include "pool/pools.h"

namespace admin {

inline constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// OpenMetrics 1.0 text. A program's counters start again from zero if its pool was removed (after
// bridge.zygote_idle_timeout) and the program is requested again; those of its arms continue.
std::string openmetrics(gateway::Gateway& gateway, const pool::Pools& pools);

}  // namespace admin
