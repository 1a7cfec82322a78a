// Shared by the classes of this room. No other room includes this.
#pragma once

#include <sys/epoll.h>
#include <uv.h>

#include <cstdint>
#include <vector>

#include "loop/loop.h"
#include "loop/timer_heap.h"

namespace loop {

class FdWatch;

// The wait is our own: one epoll instance holds every watched descriptor, and libuv's descriptor
// (for signals) is one of them. libuv gets a turn when there is something for it.
struct Loop::Impl {
  uv_loop_t uv;
  std::vector<Deferred*> pending;  // a null entry was cancelled
  TimerHeap timers;
  bool stopping = false;

  int epoll_fd = -1;
  // An event names a slot and its generation, so that an event for a watch that was destroyed
  // earlier in the same turn is ignored.
  struct Slot {
    FdWatch* watch = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots;
  std::vector<std::uint32_t> free_slots;

  bool run_deferred();  // returns whether there was any
  void run_libuv();
  int wait_ms(const Clock& clock) const;
  void dispatch(const epoll_event& event);
};

// libuv may use a handle until its close callback: a class of this room keeps its uv_*_t in a
// husk that outlives it by one turn. owner is null once the owner is gone.
template <typename Handle, typename Owner>
struct Husk {
  Handle uv;
  Owner* owner;
};

template <typename Handle, typename Owner>
Husk<Handle, Owner>* new_husk(Owner* owner) {
  auto* husk = new Husk<Handle, Owner>{};
  husk->owner = owner;
  husk->uv.data = husk;
  return husk;
}

// Ends a handle: no event reaches the owner after this.
template <typename Handle, typename Owner>
void close_husk(Husk<Handle, Owner>* husk) {
  husk->owner = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&husk->uv),
           [](uv_handle_t* handle) { delete static_cast<Husk<Handle, Owner>*>(handle->data); });
}

}  // namespace loop
