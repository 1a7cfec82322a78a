// How many workers a pool forks or lets go, and which takes the next request: pure decisions on a
// snapshot of it.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"
#include "config/program_settings.h"
#include "worker/starter.h"

namespace policy {

// What becomes of a worker behind its request.
enum class Afterwards { exits, returns };

// A pool at one moment. Counts of workers, but for waiting (requests).
struct PoolView {
  unsigned idle = 0;         // warm, ready for a request
  unsigned long_idle = 0;    // of them, for workers.idle_timeout and longer
  unsigned starting = 0;     // forked, not ready yet
  unsigned busy = 0;         // running a program for a client
  unsigned beside = 0;       // running one whose answer is only compared
  unsigned classic = 0;      // programs launched for a client; no workers, but they count to max
  unsigned returning = 0;    // being checked before they take another request
  unsigned waiting = 0;      // requests that want a worker and have none
  unsigned recent_peak = 0;  // the most of busy and waiting at once within workers.idle_timeout
  unsigned min = 0;          // settings workers.min, max and spare
  unsigned max = 1;
  unsigned spare = 0;
  bool rested = false;  // no request came for workers.idle_timeout
  Afterwards afterwards = Afterwards::exits;
  worker::Making making = worker::Making::forked;
  unsigned idle_cores = 1;  // of the machine; looked at only with Making::ahead
};

struct PoolPlan {
  unsigned fork = 0;
  unsigned retire = 0;  // of the idle

  bool operator==(const PoolPlan&) const = default;
};

// Of workers that serve one request and exit, one has to stand ready for each request of a busy
// time: as many are kept idle as requests came at once lately, spare at least and max at most. max
// bounds the busy ones; the idle come on top of them.
// Of workers that return, there are as many as requests came at once lately and spare besides, max
// at most, all together; those that run beside the clients' requests come on top.
// What is more than that goes when it has been idle for workers.idle_timeout: a site does not keep
// what its busiest hour asked for.
// A rested pool keeps min: with min = max there are always max, and a surplus goes at once.
// A worker that has to be started ahead of need costs as much as a classic request, so such starts
// keep out of the requests' way: beside running ones one at a time, and only on a core that nobody
// uses, unless one waits for it; else on all cores that are idle, or one. A rested pool keeps one,
// which is what a zygote is to the others, unless it has no spare: then there is none ahead.
PoolPlan plan(const PoolView& pool);

// Whether one more client's request may run now.
inline bool has_room(const PoolView& pool) {
  return pool.busy + pool.classic < pool.max;
}

// Which of the idle workers (at least one; the longest idle first) takes the next request, given
// since when each is idle and how long a worker usually puts itself back then: the one that was
// idle last and must be done with that, as its memory is likely still in the caches; if none is
// done, the one that began first.
template <typename SinceOf>
std::size_t choose(std::size_t idle, SinceOf since_of, base::TimePoint now,
                   std::chrono::microseconds reset_time) {
  for (std::size_t i = idle; i > 0; --i) {
    if (now - since_of(i - 1) >= reset_time) return i - 1;
  }
  return 0;
}

}  // namespace policy
