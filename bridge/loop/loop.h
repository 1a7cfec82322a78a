// The event loop, based on libuv; one per daemon. Everything runs on the thread that calls run().
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "loop/clock.h"

namespace loop {

class Deferred;

// It reads its clock once when events have arrived, and keeps that time until it waits again: all
// work of one turn has the same time.
class Loop final : public Clock {
 public:
  // clock is the clock that it reads; it must outlive the loop.
  explicit Loop(const Clock& clock = system_clock());
  // All timers, watches and deferred work must be destroyed before the loop.
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  base::TimePoint now() const override { return now_; }
  base::TimePoint measured_now() const override { return clock_.now(); }
  std::int64_t wall_ns() const override { return clock_.wall_ns(); }
  std::int64_t file_stamp_ns() const override { return clock_.file_stamp_ns(); }

  // Handles events until stop() is called.
  void run();

  // Makes run() return once the current callback is done.
  void stop();

  // Takes one turn without waiting, for a loop that is driven by hand: deferred work, pending
  // events, timers that are due. Returns whether there was anything to do.
  bool turn();

  // When the earliest timer is due; none if no timer is running.
  std::optional<base::TimePoint> next_due() const;

  struct Impl;
  Impl& impl() { return *impl_; }  // for this room's own classes

 private:
  const Clock& clock_;
  base::TimePoint now_;
  std::unique_ptr<Impl> impl_;
};

// Work to do once at the end of the turn, after its events were handled and before the loop waits
// again: if several events of a turn ask for it, it is still done once. Destroying cancels it.
class Deferred {
 public:
  Deferred(Loop& loop, std::function<void()> work);
  ~Deferred();
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  // Runs the work at the end of this turn; calling it again before then changes nothing. If called
  // from deferred work, the work runs in this same turn.
  void schedule();

 private:
  friend struct Loop::Impl;
  Loop& loop_;
  std::function<void()> work_;
  bool scheduled_ = false;
};

}  // namespace loop
