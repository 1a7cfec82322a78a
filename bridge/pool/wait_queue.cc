#include "pool/wait_queue.h"

#include <algorithm>

#include "base/assert.h"

namespace pool {

unsigned WaitQueue::waiting_for_workers() const {
  return static_cast<unsigned>(std::ranges::count_if(clients_, &Turn::wants_worker));
}

void WaitQueue::serve_clients() {
  std::size_t passed_over = 0;
  std::size_t due = 0;  // requests before this one that wait for a coming worker
  while (passed_over < clients_.size() && server_.has_room()) {
    Turn& turn = *clients_[passed_over];
    if (due > 0 && turn.wants_worker() && server_.may_wait(due)) {
      ++passed_over;
      ++due;
      continue;
    }
    // Taken out first: serving it may end it, and its end may end others.
    const auto place = clients_.begin() + static_cast<std::ptrdiff_t>(passed_over);
    clients_.erase(place);
    if (server_.serve(turn, due)) continue;
    clients_.insert(clients_.begin() + static_cast<std::ptrdiff_t>(passed_over), &turn);
    ++due;
    ++passed_over;
  }
}

void WaitQueue::limit() {
  while (clients_.size() > limits_.max) {
    Turn& turn = *clients_.back();
    clients_.pop_back();
    server_.on_full(turn);
  }
  for (Turn* turn : clients_) {
    if (turn->has_waited()) continue;
    turn->set_deadline(loop_, limits_.timeout, [this, turn] {
      remove(*turn);
      server_.on_late(*turn);
    });
  }
}

void WaitQueue::serve_shadows() {
  if (waiting_for_workers() > 0) return;
  for (std::size_t left = shadows_.size(); left > 0 && !shadows_.empty(); --left) {
    Turn& turn = *shadows_.front();
    shadows_.pop_front();
    if (!server_.serve_shadow(turn)) shadows_.push_back(&turn);
  }
}

void WaitQueue::check_invariants() const {
  const auto is_queued = [](const Turn* turn) { return turn->state() == Turn::State::queued; };
  BRIDGE_ASSERT(std::ranges::all_of(clients_, is_queued));
  BRIDGE_ASSERT(std::ranges::all_of(shadows_, is_queued));
}

}  // namespace pool
