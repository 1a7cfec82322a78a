// Pools through a day of visitors, in simulated time: does what a pool's pump does around plan(),
// with requests that only take time.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "policy/plan.h"
#include "policy/recent_peak.h"
#include "policy/shares.h"

namespace policy {

using Milliseconds = double;
constexpr Milliseconds kSecond = 1000;
constexpr Milliseconds kHour = 3600 * kSecond;
constexpr Milliseconds kDay = 24 * kHour;

// The result of one program's day.
struct Tally {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  // waited longer than the queue allows
  std::uint64_t waited = 0;   // had to wait at all
  Milliseconds longest_wait = 0;
  std::uint64_t forks = 0;
  unsigned most_workers = 0;
  unsigned most_running = 0;
};

class Simulation {
 public:
  struct Program {
    config::ProgramSettings::Workers workers;
    Afterwards afterwards = Afterwards::returns;
    Milliseconds service = 50;  // on average
    Milliseconds fork_time = 3;
    Milliseconds queue_timeout = 5 * kSecond;
    // Requests per second at a time of day, and their maximum.
    std::function<double(Milliseconds)> rate;
    double most = 40;
  };

  explicit Simulation(unsigned workers_max = 0) { shares_.set_limit(workers_max); }

  std::size_t add(const Program& program) {
    pools_.push_back(std::make_unique<Pool>(*this, program, shares_));
    return pools_.size() - 1;
  }

  // Many requests at one moment.
  void burst(std::size_t which, Milliseconds at, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      schedule(at, [this, which] { arrive(*pools_[which]); });
    }
  }

  void run(Milliseconds end) {
    for (auto& pool : pools_) schedule_arrival(*pool);
    schedule(kSecond, [this] { tick(); });
    while (!events_.empty() && events_.top().at <= end) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.happen();
      for (bool again = true; again;) {
        again = false;
        for (auto& pool : pools_) {
          if (!std::exchange(pool->dirty, false)) continue;
          pump(*pool);
          again = true;
        }
      }
    }
  }

  // Calls what at a moment, for example to count workers.
  void look(Milliseconds at, std::function<void()> what) { schedule(at, std::move(what)); }
  unsigned workers(std::size_t which) const {
    const Pool& pool = *pools_[which];
    return pool.idle() + pool.starting + pool.busy;
  }
  const Tally& tally(std::size_t which) const { return pools_[which]->tally; }
  const Shares& shares() const { return shares_; }

 private:
  struct Pool {
    Pool(Simulation&, const Program& program, Shares& shares)
        : program(program), claim(shares, [this] { dirty = true; }) {}
    unsigned idle() const { return static_cast<unsigned>(idle_since.size()); }
    Program program;
    std::deque<Milliseconds> idle_since;  // the longest idle first
    unsigned starting = 0, busy = 0;
    RecentPeak recent_peak;
    bool rested = false, dirty = false;
    Milliseconds last_used = 0;
    std::deque<Milliseconds> waiting;  // since when
    Tally tally;
    Claim claim;
  };
  struct Event {
    Milliseconds at;
    std::uint64_t number;  // keeps the order of events at the same moment
    std::function<void()> happen;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void schedule(Milliseconds at, std::function<void()> what) {
    events_.push({at, ++numbers_, std::move(what)});
  }
  base::TimePoint time() const {
    return base::TimePoint() + std::chrono::milliseconds(static_cast<std::int64_t>(now_));
  }
  double draw() { return (static_cast<double>(random_()) + 1) / 4294967297.0; }
  Milliseconds about(Milliseconds mean) { return -std::log(draw()) * mean; }

  // Thinned from the maximum rate (Lewis and Shedler).
  void schedule_arrival(Pool& pool) {
    if (!pool.program.rate) return;
    const double most = pool.program.most;
    Milliseconds at = now_;
    do {
      at += about(kSecond / most);
      if (at > kDay) return;
    } while (draw() * most > pool.program.rate(at));
    schedule(at, [this, &pool] {
      arrive(pool);
      schedule_arrival(pool);
    });
  }

  void arrive(Pool& pool) {
    pool.tally.requests += 1;
    pool.waiting.push_back(now_);
    pool.last_used = now_;
    pool.rested = false;
    pool.dirty = true;
  }

  PoolView view(const Pool& pool) const {
    const auto& workers = pool.program.workers;
    const auto timeout = static_cast<Milliseconds>(workers.idle_timeout.count());
    const auto is_long = [&](Milliseconds since) { return now_ - since >= timeout; };
    const auto long_idle = std::count_if(pool.idle_since.begin(), pool.idle_since.end(), is_long);
    return {.idle = pool.idle(),
            .long_idle = static_cast<unsigned>(long_idle),
            .starting = pool.starting,
            .busy = pool.busy,
            .waiting = static_cast<unsigned>(pool.waiting.size()),
            .recent_peak = pool.recent_peak.value(),
            .min = workers.min,
            .max = workers.max,
            .spare = workers.spare,
            .rested = pool.rested,
            .afterwards = pool.program.afterwards};
  }

  bool may_run(Pool& pool) {
    pool.claim.update(pool.busy, pool.idle() + pool.starting);
    if (has_room(view(pool))) return pool.claim.admitted();
    pool.claim.stop_waiting();
    return false;
  }

  void pump(Pool& pool) {
    const unsigned at_once = pool.busy + static_cast<unsigned>(pool.waiting.size());
    const auto& workers = pool.program.workers;
    pool.recent_peak.note(std::min(at_once, workers.max), time(), workers.idle_timeout);
    while (!pool.waiting.empty() && may_run(pool) && pool.idle() > 0) serve(pool);
    if (pool.waiting.empty()) pool.claim.stop_waiting();
    pool.claim.update(pool.busy, pool.idle() + pool.starting);
    const PoolPlan made = plan(view(pool));
    unsigned needed = 0;
    if (shares_.limit() > 0 && !pool.waiting.empty() && has_room(view(pool)) &&
        pool.claim.admitted()) {
      const unsigned wanted = std::min(view(pool).waiting, shares_.limit() - shares_.running());
      needed = wanted - std::min(wanted, pool.idle() + pool.starting);
    }
    const unsigned fork = std::min(made.fork, std::max(needed, shares_.room()));
    pool.claim.lack(made.fork - fork);
    for (unsigned i = 0; i < fork; ++i) {
      pool.starting += 1;
      pool.tally.forks += 1;
      schedule(now_ + pool.program.fork_time, [this, &pool] {
        pool.starting -= 1;
        pool.idle_since.push_back(now_);
        pool.dirty = true;
      });
    }
    const unsigned gone = std::min(pool.idle(), std::max(made.retire, pool.claim.to_yield()));
    pool.idle_since.erase(pool.idle_since.begin(), pool.idle_since.begin() + gone);
    pool.claim.update(pool.busy, pool.idle() + pool.starting);
    pool.tally.most_workers =
        std::max(pool.tally.most_workers, pool.idle() + pool.starting + pool.busy);
    pool.tally.most_running = std::max(pool.tally.most_running, pool.busy);
  }

  void serve(Pool& pool) {
    const Milliseconds wait = now_ - pool.waiting.front();
    pool.waiting.pop_front();
    pool.tally.waited += wait > 0 ? 1 : 0;
    pool.tally.longest_wait = std::max(pool.tally.longest_wait, wait);
    pool.idle_since.pop_back();
    pool.busy += 1;
    schedule(now_ + about(pool.program.service), [this, &pool] {
      pool.busy -= 1;
      if (pool.program.afterwards == Afterwards::returns) pool.idle_since.push_back(now_);
      pool.dirty = true;
    });
  }

  void tick() {
    for (auto& pool : pools_) {
      while (!pool->waiting.empty() && now_ - pool->waiting.front() > pool->program.queue_timeout) {
        pool->waiting.pop_front();
        pool->tally.refused += 1;
        pool->dirty = true;
      }
      const auto rest = static_cast<double>(pool->program.workers.idle_timeout.count());
      if (pool->busy == 0 && !pool->rested && now_ - pool->last_used >= rest) {
        pool->rested = true;
        pool->recent_peak.forget();
        pool->dirty = true;
      }
    }
    shares_.offer_room();
    schedule(now_ + kSecond, [this] { tick(); });
  }

  Shares shares_;
  std::vector<std::unique_ptr<Pool>> pools_;
  std::priority_queue<Event> events_;
  std::uint64_t numbers_ = 0;
  std::mt19937 random_{20260101};
  Milliseconds now_ = 0;
};

}  // namespace policy
