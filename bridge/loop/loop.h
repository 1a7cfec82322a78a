// The event loop, one per daemon, on libuv. Everything runs on the thread that calls run().
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "loop/clock.h"

namespace loop {

class Deferred;

// Its time is read once when events have come, and is the same until it waits again: what one turn
// does has one time, and takes none.
class Loop final : public Clock {
 public:
  // clock is what it reads; it outlives the loop.
  explicit Loop(const Clock& clock = system_clock());
  // All timers, watches and deferred work must be gone by now: the loop closes empty.
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  base::TimePoint now() const override { return now_; }
  base::TimePoint measured_now() const override { return clock_.now(); }
  std::int64_t wall_ns() const override { return clock_.wall_ns(); }
  std::int64_t file_stamp_ns() const override { return clock_.file_stamp_ns(); }

  // Serves events until stop() was called.
  void run();

  // Makes run() return once the callback that runs now is done.
  void stop();

  // One turn that does not wait, for a loop that is driven by hand: deferred work, events that have
  // come, timers that are due. Whether there was anything to do.
  bool turn();

  // When the earliest timer is due; none if no timer runs.
  std::optional<base::TimePoint> next_due() const;

  struct Impl;
  Impl& impl() { return *impl_; }  // for this room's own classes

 private:
  enum class Waiting { not_at_all, for_events };
  bool take_turn(Waiting waiting);

  const Clock& clock_;
  base::TimePoint now_;
  std::unique_ptr<Impl> impl_;
};

// Work to do once at the end of the turn, after the events at hand were handled and before the
// loop waits again: what several events of one turn ask for is done once. Destroying cancels.
class Deferred {
 public:
  Deferred(Loop& loop, std::function<void()> work);
  ~Deferred();
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  // Runs the work at the end of this turn; asking again before then changes nothing. Asked for
  // from within deferred work, it runs in this same turn.
  void schedule();

 private:
  friend struct Loop::Impl;
  Loop& loop_;
  std::function<void()> work_;
  bool scheduled_ = false;
};

}  // namespace loop
