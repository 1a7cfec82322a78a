#include "pool/plan.h"

#include <algorithm>

namespace pool {

PoolPlan plan(const PoolView& pool) {
  const unsigned wanted = pool.rested && pool.waiting == 0
                              ? pool.min
                              : std::max({pool.min, pool.spare, pool.recent_peak});
  const unsigned target = std::min(wanted, pool.max);
  const unsigned there = pool.idle + pool.starting;
  if (there < target) return {.fork = target - there, .retire = 0};
  const unsigned surplus = there - target;
  return {.fork = 0, .retire = pool.rested ? std::min(surplus, pool.idle) : 0};
}

}  // namespace pool
