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

// How many workers a pool should have, without those that run beside the clients' requests.
unsigned target_of(const PoolView& pool) {
  if (pool.rested && pool.waiting == 0) {
    const bool keeps_one = pool.making == worker::Making::ahead && pool.spare > 0;
    return std::min(keeps_one ? std::max(pool.min, 1u) : pool.min, pool.max);
  }
  const unsigned in_use = pool.afterwards == Afterwards::returns
                              ? pool.recent_peak + pool.spare
                              : std::max(pool.spare, pool.recent_peak);
  return std::min(std::max(pool.min, in_use), pool.max);
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
  const unsigned may_go = pool.rested || pool.min == pool.max ? pool.idle : pool.long_idle;
  return {.fork = 0, .retire = std::min(surplus, may_go)};
}

}  // namespace policy
