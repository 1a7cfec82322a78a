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
  // fd is borrowed: it must stay open as long as the watch lives. It may be blocking: a single
  // read or write after an event does not wait.
  // on_ready runs on the loop with what happened; if the other end is closed, or fd has an error,
  // it gets everything that was asked for. It may destroy the watch.
  FdWatch(Loop& loop, int fd, std::function<void(unsigned readiness)> on_ready);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  // Asks for these from now on; kNothing pauses. Level-triggered, except with kOnlyNew. Costs
  // nothing if the request is unchanged, otherwise one system call.
  void ask(unsigned readiness);

  // Call this right before destroying the watch if the only holder of fd then closes it: the kernel
  // forgets a closed descriptor by itself, which saves the system call.
  void closing();

 private:
  friend struct Loop::Impl;
  void ready(std::uint32_t epoll_events);

  Loop& loop_;
  const int fd_;
  std::function<void(unsigned)> on_ready_;
  unsigned asked_ = kNothing;
  std::uint32_t slot_;
};

}  // namespace loop
