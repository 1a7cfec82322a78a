// How many workers a pool forks or lets go: a pure decision on a snapshot of it.
#pragma once

namespace pool {

// A pool at one moment. Counts of workers, but for waiting (requests).
struct PoolView {
  unsigned idle = 0;         // warm, ready for a request
  unsigned starting = 0;     // forked, not ready yet
  unsigned busy = 0;         // running a program
  unsigned waiting = 0;      // requests without a worker
  unsigned recent_peak = 0;  // the most requests at once since the pool was last idle
  unsigned min = 0;          // settings workers.min, max and spare
  unsigned max = 1;
  unsigned spare = 0;
  bool rested = false;  // no request came for workers.idle_timeout
};

struct PoolPlan {
  unsigned fork = 0;
  unsigned retire = 0;  // of the idle

  bool operator==(const PoolPlan&) const = default;
};

// A worker serves one request and exits, so for each request of a busy time one has to stand ready:
// as many are kept idle as requests came at once lately, spare at least and max at most. max bounds
// the busy ones; the idle come on top of them. A rested pool keeps min.
PoolPlan plan(const PoolView& pool);

// Whether one more request may run now.
inline bool has_room(const PoolView& pool) {
  return pool.busy < pool.max;
}

}  // namespace pool
