// The figures of the bridge and of all programs, for Prometheus and its like.
#pragma once

#include <string>
#include <string_view>

#include "gateway/gateway.h"
#include "pool/pools.h"

namespace admin {

inline constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// OpenMetrics 1.0 text. Counters of a program begin anew when its pool was let go (bridge.
// zygote_idle_timeout) and it is asked for again; those of its arms go on.
std::string openmetrics(gateway::Gateway& gateway, const pool::Pools& pools);

}  // namespace admin
