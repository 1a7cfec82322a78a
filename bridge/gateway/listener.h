// A listening socket that accepts connections as they come.
#pragma once

#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "loop/fd_watch.h"
#include "loop/timer.h"

namespace gateway {

enum class Accepting { off, on };

class Listener {
 public:
  // on_connection gets each new connection, close-on-exec and non-blocking. If no descriptor is
  // left, make_room, unless it is empty, is asked whether one will be free at the end of this turn.
  // Neither may destroy the listener.
  Listener(loop::Loop& loop, base::UniqueFd fd, std::string name,
           std::function<void(base::UniqueFd)> on_connection, std::function<bool()> make_room = {});

  // off: connections wait in the kernel's queue.
  void set_accepting(Accepting accepting);

  const base::UniqueFd& fd() const { return fd_; }
  const std::string& name() const { return name_; }

 private:
  void on_readable();
  void ask();

  base::UniqueFd fd_;
  const std::string name_;
  std::function<void(base::UniqueFd)> on_connection_;
  std::function<bool()> make_room_;
  Accepting accepting_ = Accepting::on;
  loop::FdWatch watch_;
  // Without free descriptors accept() would fail again at once: pause instead of a busy loop.
  loop::Timer retry_timer_;
};

}  // namespace gateway
