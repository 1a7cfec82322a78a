#include "policy/plan.h"

#include <algorithm>

namespace policy {
namespace {

unsigned starts_at_once(const PoolView& pool) {
  const bool runs_any = pool.busy + pool.beside + pool.classic > 0;
  if (pool.starting > 0) return runs_any ? 0 : pool.idle_cores;
  if (!runs_any || pool.waiting > 0) return runs_any ? 1 : std::max(pool.idle_cores, 1u);
  return std::min(pool.idle_cores, 1u);
}

// How many a pool should have, those that run beside the clients' requests left out.
unsigned target_of(const PoolView& pool) {
  if (pool.kind == config::WorkerKind::fixed) return pool.max;
  const bool on_demand = pool.kind == config::WorkerKind::on_demand;
  const unsigned min = on_demand ? 0 : pool.min;
  const unsigned spare = on_demand ? 0 : pool.spare;
  if (pool.rested && pool.waiting == 0) {
    const bool keeps_one = pool.making == worker::Making::ahead && !on_demand;
    return std::min(keeps_one ? std::max(min, 1u) : min, pool.max);
  }
  const unsigned in_use = pool.afterwards == Afterwards::returns
                              ? pool.recent_peak + spare
                              : std::max(spare, pool.recent_peak);
  return std::min(std::max(min, in_use), pool.max);
}

}  // namespace

PoolPlan plan(const PoolView& pool) {
  const bool returns = pool.afterwards == Afterwards::returns;
  const bool ahead = pool.making == worker::Making::ahead;
  const unsigned target = target_of(pool) + (returns ? pool.beside : 0);
  const unsigned there =
      pool.idle + pool.starting + (returns ? pool.busy + pool.beside + pool.returning : 0);
  if (there < target) {
    const unsigned wanted = target - there;
    return {.fork = ahead ? std::min(wanted, starts_at_once(pool)) : wanted, .retire = 0};
  }
  const unsigned surplus = there - target;
  const bool at_once = pool.rested || pool.kind == config::WorkerKind::fixed;
  return {.fork = 0, .retire = std::min(surplus, at_once ? pool.idle : pool.long_idle)};
}

}  // namespace policy
