// Reports when a descriptor can be read or written, or when its other end is gone.
#pragma once

#include <cstdint>
#include <functional>

#include "loop/loop.h"

namespace loop {

// What is asked for, or what happened. Values can be combined with |.
// kPeerGone: the other end sends no more. kHungUp: it does not read any more either (TCP does not
// tell that before something is sent to it).
enum Readiness : unsigned {
  kNothing = 0,
  kReadable = 1,
  kWritable = 2,
  kPeerGone = 4,
  kHungUp = 8
};

// Combined with what is asked for: on_ready runs once when asked, and once whenever more has
// arrived, but not again for data that was left unread.
constexpr unsigned kOnlyNew = 16;

class FdWatch {
 public:
  // fd is borrowed: it must stay open as long as the watch lives, have no other watch, and is made
  // non-blocking with the first ask().
  // on_ready runs on the loop with what happened; if the other end is closed, or fd has an error,
  // it gets everything that was asked for. It may destroy the watch.
  FdWatch(Loop& loop, int fd, std::function<void(unsigned readiness)> on_ready);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  // Asks for these from now on; kNothing pauses. Level-triggered, except with kOnlyNew. Costs
  // nothing if the request is unchanged, otherwise two system calls; the first time four.
  void ask(unsigned readiness);

 private:
  friend struct Loop::Impl;
  struct OnPoll;
  void poll(unsigned readiness);
  void watch_edges(unsigned readiness);
  void on_poll(int status, int events);
  void on_edge(std::uint32_t epoll_events);
  void tell(unsigned happened);
  void pause();

  Loop& loop_;
  const int fd_;
  std::function<void(unsigned)> on_ready_;
  unsigned asked_ = kNothing;
  void* husk_ = nullptr;  // libuv's handle, once something was asked for
  // libuv tells of all that is there, again and again: for kOnlyNew the loop's epoll instance has
  // this descriptor instead.
  bool by_edges_ = false;
};

}  // namespace loop
