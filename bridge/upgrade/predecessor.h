// The new side of an upgrade: the bridge that this one takes over from.
#pragma once

#include <functional>
#include <memory>

#include "loop/fd_watch.h"
#include "upgrade/handover.h"

namespace upgrade {

// Owned by the daemon; exists until the old bridge has ended.
class Predecessor {
 public:
  // All run on the loop; none may destroy this object.
  struct Events {
    std::function<void()> on_serve;                         // the old one accepts nobody any more
    std::function<void(base::UniqueFd)> on_connection;      // that the old bridge had open
    std::function<void(const std::string& why)> on_failed;  // the old bridge ended before on_serve
    std::function<void()> on_ended;                         // later: no more connections come
  };

  Predecessor(loop::Loop& loop, base::UniqueFd channel, Events events);

  // Programs are warm: the old bridge may tell this one to serve.
  void say_ready();
  bool serves() const { return serves_; }
  bool ended() const { return ended_; }

 private:
  void on_packet();

  base::UniqueFd channel_;
  const Events events_;
  bool serves_ = false, ended_ = false;
  std::unique_ptr<loop::FdWatch> watch_;
};

}  // namespace upgrade
