// The event loop, one per daemon, on libuv. Everything runs on the thread that calls run().
#pragma once

#include <functional>
#include <memory>

namespace loop {

class Deferred;

class Loop {
 public:
  Loop();
  // All timers, watches and deferred work must be gone by now: the loop closes empty.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Serves events until stop() was called.
  void run();

  // Makes run() return once the callback that runs now is done.
  void stop();

  struct Impl;
  Impl& impl() { return *impl_; }  // for this room's own classes

 private:
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
