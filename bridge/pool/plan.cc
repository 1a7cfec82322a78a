#include "pool/plan.h"

#include <algorithm>

namespace pool {
namespace {

unsigned starts_at_once(const PoolView& pool) {
  const bool runs_any = pool.busy + pool.beside + pool.classic > 0;
  if (pool.starting > 0) return runs_any ? 0 : pool.idle_cores;
  if (!runs_any || pool.waiting > 0) return runs_any ? 1 : std::max(pool.idle_cores, 1u);
  return std::min(pool.idle_cores, 1u);
}

}  // namespace

PoolPlan plan(const PoolView& pool) {
  const bool returns = pool.afterwards == Afterwards::returns;
  const bool ahead = pool.making == worker::Making::ahead;
  const unsigned in_use =
      returns ? pool.recent_peak + pool.spare : std::max(pool.spare, pool.recent_peak);
  const bool resting = pool.rested && pool.waiting == 0;
  const unsigned least = resting && ahead ? std::max(pool.min, 1u) : pool.min;
  const unsigned target =
      std::min(resting ? least : std::max(least, in_use), pool.max) + (returns ? pool.beside : 0);
  const unsigned there =
      pool.idle + pool.starting + (returns ? pool.busy + pool.beside + pool.returning : 0);
  if (there < target) {
    const unsigned wanted = target - there;
    return {.fork = ahead ? std::min(wanted, starts_at_once(pool)) : wanted, .retire = 0};
  }
  const unsigned surplus = there - target;
  return {.fork = 0, .retire = pool.rested ? std::min(surplus, pool.idle) : 0};
}

}  // namespace pool
