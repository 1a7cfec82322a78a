// How the places of bridge.workers_max are shared among the programs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace policy {

class Shares;

// One program's part. Owned by its pool; destroying it gives everything back.
class Claim {
 public:
  // on_room: a place may be free for it, or idle workers of it have to go (to_yield()). It may only
  // take a note: it runs while another claim changes.
  Claim(Shares& shares, std::function<void()> on_room);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // What the program has now: requests that run, and other workers. Who waits stays as it was.
  void update(unsigned running, unsigned idle);
  // Whether one more request may run; if not, the claim waits from here on, and on_room tells when
  // to ask again.
  bool admitted();
  // Nothing of it waits for a place any more.
  void stop_waiting();

  // How many more workers it would make ahead of need if there was room: see offer_room().
  void lack(unsigned workers) { lacking_ = workers; }

  // How many of its idle workers have to go to make room for others.
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

// One per bridge; outlives its claims. Asking costs the same however many programs there are, as
// long as none waits.
class Shares {
 public:
  // 0: no limit.
  void set_limit(unsigned limit);
  unsigned limit() const { return limit_; }

  // Whether one more program may be made warm, as of the last look (bridge.zygotes_max).
  void set_zygote_room(bool room) { zygote_room_ = room; }
  bool zygote_room() const { return zygote_room_; }

  // Requests that run, and all workers, of all programs.
  unsigned running() const { return running_; }
  unsigned workers() const { return running_ + idle_; }
  // How many workers may still be made ahead of need.
  unsigned room() const;
  // Tells those that lack workers that there is room, if nobody waits; who has the fewest first. To
  // be called now and then: told at each free place, two programs would take it from each other.
  void offer_room();
  // Times that a request had to wait for a place, so far.
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
