// The requests of one program that wait to run.
#pragma once

#include <deque>

#include "config/program_settings.h"
#include "pool/turn.h"

namespace pool {

// Clients' requests in the order in which they came, and shadows' after them. Owned by the pool;
// the turns are borrowed: each one leaves before it is destroyed. Any call to the server may end
// turns, even those that wait.
class WaitQueue {
 public:
  // Lets the requests run.
  class Server {
   public:
    virtual ~Server() = default;

    // Whether one more client's request may run now.
    virtual bool has_room() = 0;
    // Whether one more may wait for a worker that is about to come, when `before` requests already
    // do.
    virtual bool may_wait(std::size_t before) const = 0;
    // Lets it run, or refuses it. False: it has to wait for a worker that is about to come, for
    // which `before` requests already wait.
    virtual bool serve(Turn& turn, std::size_t before) = 0;
    // The same for a shadow's request.
    virtual bool serve_shadow(Turn& turn) = 0;
    // The request is no longer in the queue, and must be refused: more requests wait than
    // queue.max; it has waited for queue.timeout.
    virtual void on_full(Turn& turn) = 0;
    virtual void on_late(Turn& turn) = 0;
  };

  // limits are read when needed. All arguments outlive the queue.
  WaitQueue(loop::Loop& loop, const config::ProgramSettings::Queue& limits, Server& server)
      : loop_(loop), limits_(limits), server_(server) {}

  void add(Turn& turn) { line_of(turn).push_back(&turn); }
  // It had its turn, or nearly, and becomes the first of those that wait.
  void add_again(Turn& turn) { line_of(turn).push_front(&turn); }
  void remove(Turn& turn) { std::erase(line_of(turn), &turn); }

  bool empty() const { return clients_.empty() && shadows_.empty(); }
  const std::deque<Turn*>& clients() const { return clients_; }
  // How many clients' requests want a warm worker.
  unsigned waiting_for_workers() const;

  // Offers clients' requests to the server in order while it has room. Requests that are to run
  // classic do not wait behind one that waits for a worker.
  void serve_clients();
  // Refuses those that are too many, and gives the others their deadline. The limit is for those
  // that have to wait: to be called after requests were served.
  void limit();
  // Offers each shadow's request once, unless a client's waits for a worker.
  void serve_shadows();
  void check_invariants() const;

 private:
  std::deque<Turn*>& line_of(const Turn& turn) {
    return turn.is_for_client() ? clients_ : shadows_;
  }

  loop::Loop& loop_;
  const config::ProgramSettings::Queue& limits_;
  Server& server_;
  std::deque<Turn*> clients_, shadows_;
};

}  // namespace pool
