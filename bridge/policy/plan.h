// How many workers a pool forks or lets go, and which one takes the next request: pure decisions on
// a snapshot of the pool.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"
#include "config/program_settings.h"
#include "worker/starter.h"

namespace policy {

// What a worker does after its request.
enum class Afterwards { exits, returns };

// A pool at one moment. Counts workers, except for classic and waiting.
struct PoolView {
  unsigned idle = 0;         // warm, ready for a request
  unsigned long_idle = 0;    // of these, idle for at least workers.idle_timeout
  unsigned starting = 0;     // forked, not ready yet
  unsigned busy = 0;         // running a program for a client
  unsigned beside = 0;       // running a program whose answer is only compared
  unsigned classic = 0;      // programs launched for a client: not workers, but count towards max
  unsigned returning = 0;    // being checked before they take another request
  unsigned waiting = 0;      // requests that want a worker and have none
  unsigned recent_peak = 0;  // the maximum of busy and waiting within workers.idle_timeout
  unsigned min = 0;          // settings workers.min, max and spare
  unsigned max = 1;
  unsigned spare = 0;
  bool rested = false;  // no request came for workers.idle_timeout
  Afterwards afterwards = Afterwards::exits;
  worker::Making making = worker::Making::forked;
  unsigned idle_cores = 1;  // of the machine; used only with Making::ahead

  unsigned running() const { return busy + beside + classic; }
};

struct PoolPlan {
  unsigned fork = 0;
  unsigned retire = 0;  // idle workers

  bool operator==(const PoolPlan&) const = default;
};

// If workers exit after one request, one must be ready for each request of a busy time: as many are
// kept idle as requests recently came at once, at least spare and at most max. max limits the busy
// ones; the idle ones come in addition.
// If workers return, there are as many as requests recently came at once, plus spare, in all at
// most max; those that run beside the clients' requests come in addition.
// A surplus goes when it has been idle for workers.idle_timeout: a site does not keep what its
// busiest hour needed.
// A rested pool keeps min: with min = max there are always max, and a surplus goes at once.
// A worker that must be started ahead of need costs as much as a classic request, so such starts
// keep out of the requests' way. While requests run, there is one start at a time, and only on an
// idle core unless a request waits for it; otherwise starts use all idle cores, or one. A rested
// pool keeps one worker, as other pools keep a zygote; if spare is 0, it keeps none ahead.
PoolPlan plan(const PoolView& pool);

// Whether one more client's request may run now.
inline bool has_room(const PoolView& pool) {
  return pool.busy + pool.classic < pool.max;
}

// Which of the idle workers (at least one; the longest idle first) takes the next request, given
// when each became idle and how long a worker then usually takes to reset itself. It is the last of
// those that must have finished their reset, because its memory is likely still in the caches; if
// none has finished, the one that began first.
template <typename SinceOf>
std::size_t choose(std::size_t idle, SinceOf since_of, base::TimePoint now,
                   std::chrono::microseconds reset_time) {
  for (std::size_t i = idle; i > 0; --i) {
    if (now - since_of(i - 1) >= reset_time) return i - 1;
  }
  return 0;
}

}  // namespace policy
