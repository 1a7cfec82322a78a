// Shared by the classes of this room. No other room includes this.
#pragma once

#include <uv.h>

#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "loop/loop.h"
#include "loop/timer_heap.h"

namespace loop {

// libuv carries the loop. A turn: before it waits the deferred work is done, then come the events,
// and after them the timers that are due.
struct Loop::Impl {
  explicit Impl(Loop& owner);

  Loop& owner;
  uv_loop_t uv;  // its data is this
  uv_prepare_t before_wait;
  uv_check_t after_events;
  uv_poll_t edges;      // an epoll instance with the watches that asked for kOnlyNew
  uv_timer_t deadline;  // for the earliest of timers
  std::optional<base::TimePoint> armed;  // when it ends
  std::vector<Deferred*> pending;        // a null entry was cancelled
  TimerHeap timers;
  base::UniqueFd edges_fd;
  bool stopping = false;
  bool was_busy = false;      // this turn had something to do
  bool time_is_read = false;  // since the events of this turn came

  template <typename Handle>  // any of libuv's
  static Impl& of(const Handle& handle) {
    return *static_cast<Impl*>(handle.loop->data);
  }

  void take_turn(uv_run_mode mode);
  void end_turn();
  bool run_deferred();  // returns whether there was any
  void arm_deadline();
  // Called by whatever libuv calls, before anything else.
  void note_event();
  void read_time();
  void tell_of_edges();
  void run_timers();
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
