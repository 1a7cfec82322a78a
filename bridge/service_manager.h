// The service manager that started the bridge (systemd), if one did, and what it is told.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "loop/timer.h"

// sd_notify(3) in a few lines: a datagram to the socket that NOTIFY_SOCKET names. Without one
// nothing is sent. With WATCHDOG_USEC it is told twice in that time that the loop turns.
class ServiceManager {
 public:
  explicit ServiceManager(loop::Loop& loop);

  // Requests are served from here on. taken_over: by a process that is not the one the manager
  // started, which knows of it by hand_over_to().
  enum class Start { first, taken_over };
  void ready(Start start);
  // It ends when what is open is done.
  void stopping();
  // That process is the service from here on; this one ends soon and says nothing more.
  void hand_over_to(pid_t successor);

 private:
  // What becomes of a message when the manager's queue is full: 10 datagrams by default.
  enum class WhenFull { wait, drop };
  void tell(const std::string& what, WhenFull when_full) const;
  void keep_alive();

  std::string socket_;
  base::Duration interval_{0};  // 0: no watchdog
  pid_t watched_ = 0;
  loop::Timer timer_;
};
