// How the programs share the places of bridge.workers_max.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace policy {

class Shares;

// One program's share. Owned by its pool; destroying it gives everything back.
class Claim {
 public:
  // on_room: a place may be free for this claim, or some of its idle workers must go (to_yield()).
  // It may only take a note, because it runs while another claim changes.
  Claim(Shares& shares, std::function<void()> on_room);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // What the program has now: running requests, and other workers. Does not change who waits.
  void update(unsigned running, unsigned idle);
  // Whether one more request may run; if not, the claim waits from now on, and on_room tells it
  // when to ask again.
  bool admitted();
  // None of its requests waits for a place any more.
  void stop_waiting();

  // How many more workers it would make ahead of need if there were room: see offer_room().
  void lack(unsigned workers) { lacking_ = workers; }

  // How many of its idle workers must go to make room for others.
  unsigned to_yield() const;

  unsigned running() const { return running_; }
  bool waiting() const { return waiting_; }

 private:
  friend class Shares;

  Shares& shares_;
  std::function<void()> on_room_;
  unsigned running_ = 0;
  unsigned idle_ = 0;
  unsigned yield_ = 0;
  unsigned lacking_ = 0;
  bool waiting_ = false;
};

// One per bridge; outlives its claims. As long as no program waits, asking costs the same for any
// number of programs.
class Shares {
 public:
  // 0: no limit.
  void set_limit(unsigned limit);
  unsigned limit() const { return limit_; }

  // Whether one more program may be made warm, when last checked (bridge.zygotes_max).
  void set_zygote_room(bool room) { zygote_room_ = room; }
  bool zygote_room() const { return zygote_room_; }

  // Running requests, and all workers, of all programs.
  unsigned running() const { return running_; }
  unsigned workers() const { return running_ + idle_; }
  // How many workers may still be made ahead of need.
  unsigned room() const;
  // Tells claims that lack workers that there is room, if nobody waits; those with the fewest come
  // first. Call it now and then: if claims learned about each free place, two programs would take
  // it from each other.
  void offer_room();
  // How often a program has begun to wait for a place so far.
  std::uint64_t waits() const { return waits_; }

 private:
  friend class Claim;

  bool admits(const Claim& claim) const;
  void tell_waiting();
  void squeeze();

  bool zygote_room_ = true;
  unsigned limit_ = 0;
  unsigned running_ = 0;
  unsigned idle_ = 0;
  unsigned active_ = 0;  // claims that run something or wait
  std::uint64_t waits_ = 0;
  std::vector<Claim*> claims_;
  std::vector<Claim*> waiting_;  // the longest waiting first
};

}  // namespace policy
