#include "pool/plan.h"

#include <algorithm>

namespace pool {

PoolPlan plan(const PoolView& pool) {
  const bool returns = pool.afterwards == Afterwards::returns;
  const unsigned in_use =
      returns ? pool.recent_peak + pool.spare : std::max(pool.spare, pool.recent_peak);
  const bool resting = pool.rested && pool.waiting == 0;
  const unsigned target = std::min(resting ? pool.min : std::max(pool.min, in_use), pool.max) +
                          (returns ? pool.beside : 0);
  const unsigned there =
      pool.idle + pool.starting + (returns ? pool.busy + pool.beside + pool.returning : 0);
  if (there < target) return {.fork = target - there, .retire = 0};
  const unsigned surplus = there - target;
  return {.fork = 0, .retire = pool.rested ? std::min(surplus, pool.idle) : 0};
}

}  // namespace pool
