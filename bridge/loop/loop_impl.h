// What the classes of this room share of libuv. No other room includes this.
#pragma once

#include <uv.h>

#include <cstdint>
#include <vector>

#include "loop/loop.h"

namespace loop {

class FdWatch;

struct Loop::Impl {
  uv_loop_t uv;
  uv_prepare_t turn_end;
  std::vector<Deferred*> pending;  // a null entry was cancelled

  // Descriptors are watched in an epoll instance of our own that libuv watches as one descriptor. A
  // request brings three or more short-lived ones: uv_poll_t costs five system calls each, this
  // two.
  int epoll_fd = -1;
  uv_poll_t epoll_ready;
  // What an event is for: a slot and its generation, so that an event of a watch that was destroyed
  // earlier in the same turn finds nobody.
  struct Slot {
    FdWatch* watch = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots;
  std::vector<std::uint32_t> free_slots;

  void run_deferred();
  void dispatch_ready();
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

// Ends a handle: no event reaches the owner from here on.
template <typename Handle, typename Owner>
void close_husk(Husk<Handle, Owner>* husk) {
  husk->owner = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&husk->uv),
           [](uv_handle_t* handle) { delete static_cast<Husk<Handle, Owner>*>(handle->data); });
}

}  // namespace loop
