// Tells when a descriptor can be read or written, or when its other end is gone.
#pragma once

#include <cstdint>
#include <functional>

#include "loop/loop.h"

namespace loop {

// What is asked for, and what happened. Values add up.
enum Readiness : unsigned { kNothing = 0, kReadable = 1, kWritable = 2, kPeerGone = 4 };

// Added to what is asked for: it is told of once whenever more has come, and once when it is asked
// for, and not again for what was left unread.
constexpr unsigned kOnlyNew = 8;

class FdWatch {
 public:
  // fd is borrowed: it must stay open as long as the watch lives. It may be blocking: a single
  // read or write after an event does not wait.
  // on_ready runs on the loop with what happened; a closed other end or an error on fd shows as
  // all that was asked for. It may destroy the watch.
  FdWatch(Loop& loop, int fd, std::function<void(unsigned readiness)> on_ready);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  // Asks for these from now on; kNothing pauses. Level-triggered, but for kOnlyNew. Free when
  // nothing changes, one system call when something does.
  void ask(unsigned readiness);

  // To be said right before the watch is destroyed and then fd is closed by its only holder: the
  // kernel forgets a closed descriptor by itself, which saves the system call.
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
