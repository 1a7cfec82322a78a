#include "pool/pools.h"

#include <algorithm>

#include "base/log.h"

namespace pool {
namespace {
constexpr std::chrono::milliseconds kTidyInterval{1000};
// Pools of programs without anything warm cost little, but not nothing.
constexpr std::size_t kQuietPoolsMax = 4096;
}  // namespace

Pools::Pools(Surroundings surroundings)
    : surroundings_(std::move(surroundings)),
      tidy_timer_(surroundings_.loop, [this] { tidy_up(); }) {
  tidy_timer_.start(kTidyInterval);
}

Pool& Pools::of(const std::string& program) {
  std::unique_ptr<Pool>& pool = pools_[program];
  if (pool == nullptr) pool = std::make_unique<Pool>(surroundings_, program);
  return *pool;
}

std::vector<PoolStatus> Pools::status() const {
  std::vector<PoolStatus> all;
  for (const auto& [program, pool] : pools_) all.push_back(pool->status());
  std::sort(all.begin(), all.end(),
            [](const PoolStatus& a, const PoolStatus& b) { return a.program < b.program; });
  return all;
}

void Pools::tidy_up() {
  const base::TimePoint now = base::Clock::now();
  for (const auto& [program, pool] : pools_) {
    if (pool->has_zygote() && now - pool->last_used() > limits_.zygote_idle_timeout) {
      base::log_info("program={} was not asked for in {} s: its zygote is let go", program,
                     limits_.zygote_idle_timeout.count() / 1000);
      pool->cool_down();
    }
  }
  cool_least_used();
  if (pools_.size() > kQuietPoolsMax) {
    std::erase_if(pools_, [](const auto& entry) {
      return entry.second->quiet() && !entry.second->has_zygote();
    });
  }
  tidy_timer_.start(kTidyInterval);
}

void Pools::cool_least_used() {
  std::vector<Pool*> warm;
  for (const auto& [program, pool] : pools_) {
    if (pool->has_zygote()) warm.push_back(pool.get());
  }
  if (warm.size() <= limits_.zygotes_max) return;
  std::sort(warm.begin(), warm.end(),
            [](const Pool* a, const Pool* b) { return a->last_used() < b->last_used(); });
  warm.resize(warm.size() - limits_.zygotes_max);
  for (Pool* pool : warm) {
    base::log_info("program={}: its zygote is let go: more than {} (bridge.zygotes_max)",
                   pool->program(), limits_.zygotes_max);
    pool->cool_down();
  }
}

}  // namespace pool
