#include "pool/pools.h"

#include <algorithm>

#include "base/log.h"

namespace pool {
namespace {
constexpr std::chrono::milliseconds kTidyInterval{1000};
// Pools of programs without anything warm cost little, but they do cost something.
constexpr std::size_t kQuietPoolsMax = 4096;
// At bridge.zygotes_max a program takes another one's place only if that was not asked for within
// this time: otherwise programs that are requested in turn would push out each other's zygotes all
// the time.
constexpr std::chrono::seconds kKeepsPlace{10};

// Its name will be in the log. NUL: between its parts.
bool is_printable(std::string_view key) {
  return std::ranges::none_of(key,
                              [](unsigned char c) { return c != '\0' && (c < 0x20 || c == 0x7f); });
}

}  // namespace

Pools::Pools(Surroundings surroundings)
    : surroundings_(std::move(surroundings)),
      tidy_timer_(surroundings_.loop, [this] { tidy_up(); }) {
  surroundings_.shares = &shares_;
  surroundings_.executed = [this](const Subject& subject) { return executed(subject); };
  shares_.set_limit(limits_.workers_max);
  tidy_timer_.start(kTidyInterval);
}

void Pools::set_limits(const PoolLimits& limits) {
  limits_ = limits;
  shares_.set_limit(limits.workers_max);
  cool_least_used();
}

Pool& Pools::of(const std::string& program) {
  std::unique_ptr<Pool>& pool = pools_[program];
  if (pool == nullptr) pool = std::make_unique<Pool>(surroundings_, program);
  return *pool;
}

// Those that were not asked for in a long time leave their places to others.
Pool* Pools::executed(const Subject& subject) {
  const std::string own_key = subject.executed->key(), key = subject.home + '\0' + own_key;
  if (const auto known = pools_.find(key); known != pools_.end()) return known->second.get();
  if (!is_printable(own_key)) return nullptr;
  const base::TimePoint now = surroundings_.loop.now();
  const auto holds_place = [&](const auto& entry) {
    const Pool& pool = *entry.second;
    const bool is_recent = now - pool.last_used() < limits_.zygote_idle_timeout;
    return pool.subject().executed && pool.program() == subject.home &&
           (is_recent || pool.has_zygote() || !pool.quiet());
  };
  if (static_cast<std::size_t>(std::ranges::count_if(pools_, holds_place)) >= kExecutedMost) {
    if (with_many_.insert(subject.home).second) {
      base::log_info("program={}: it executes more than {} others; {} and more are not made warm",
                     subject.home, kExecutedMost, subject.executed->name());
    }
    return nullptr;
  }
  base::log_info("program={}: it is executed by {}; made warm for that", subject.title,
                 subject.home);
  return (pools_[key] = std::make_unique<Pool>(surroundings_, subject)).get();
}

std::vector<PoolStatus> Pools::status() const {
  std::vector<PoolStatus> all;
  for (const auto& [program, pool] : pools_) all.push_back(pool->status());
  std::sort(all.begin(), all.end(),
            [](const PoolStatus& a, const PoolStatus& b) { return a.program < b.program; });
  return all;
}

bool Pools::is_warming(const std::string& program) const {
  const auto found = pools_.find(program);
  return found != pools_.end() && found->second->status().is_warming();
}

std::vector<WarmNote> Pools::warm_notes() const {
  std::vector<WarmNote> notes;
  for (const auto& [program, pool] : pools_) {
    if (pool->has_zygote() && !pool->subject().executed) notes.push_back(pool->note());
  }
  return notes;
}

void Pools::tidy_up() {
  const base::TimePoint now = surroundings_.loop.now();
  for (const auto& [program, pool] : pools_) {
    if (pool->has_zygote() && now - pool->last_used() > limits_.zygote_idle_timeout) {
      base::log_info("program={} was not asked for in {} s: its zygote is let go",
                     pool->subject().title, limits_.zygote_idle_timeout.count() / 1000);
      pool->cool_down();
    }
    // A program that is requested now and then keeps its cgroup, as it would keep its zygote.
    const bool rests = pool->quiet() && !pool->has_zygote();
    if (rests && now - pool->last_used() > limits_.zygote_idle_timeout) {
      surroundings_.cgroups.release(program);
    }
  }
  surroundings_.cgroups.tidy();
  shares_.offer_room();
  cool_least_used();
  if (pools_.size() > kQuietPoolsMax) {
    std::erase_if(pools_, [this](const auto& entry) {
      const bool rests = entry.second->quiet() && !entry.second->has_zygote();
      if (rests) surroundings_.cgroups.release(entry.first);
      return rests;
    });
  }
  tidy_timer_.start(kTidyInterval);
}

void Pools::cool_least_used() {
  std::vector<Pool*> warm;
  for (const auto& [program, pool] : pools_) {
    if (pool->has_zygote()) warm.push_back(pool.get());
  }
  std::sort(warm.begin(), warm.end(),
            [](const Pool* a, const Pool* b) { return a->last_used() < b->last_used(); });
  const std::size_t most = limits_.zygotes_max;
  const std::size_t surplus = warm.size() > most ? warm.size() - most : 0;
  const Pool* least_used = surplus < warm.size() ? warm[surplus] : nullptr;  // of those that stay
  const bool rests =
      least_used != nullptr && surroundings_.loop.now() - least_used->last_used() > kKeepsPlace;
  shares_.set_zygote_room(warm.size() < most || rests);
  warm.resize(surplus);
  for (Pool* pool : warm) {
    base::log_info("program={}: its zygote is let go: more than {} (bridge.zygotes_max)",
                   pool->subject().title, limits_.zygotes_max);
    pool->cool_down();
  }
}

}  // namespace pool
