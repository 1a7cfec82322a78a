// The service manager that started the bridge (systemd), if any, and what is reported to it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "loop/timer.h"

// sd_notify(3) in a few lines: sends datagrams to the socket that NOTIFY_SOCKET names. If it is not
// set, nothing is sent. With WATCHDOG_USEC, tells the manager twice in that time that the loop is
// running.
class ServiceManager {
 public:
  explicit ServiceManager(loop::Loop& loop);

  // Requests are served from now on. taken_over: by another process than the one that the manager
  // started; the manager knows about it through hand_over_to().
  enum class Start { first, taken_over };
  void ready(Start start);
  // The bridge is ending: it finishes what is open.
  void stopping();
  // That process is the service from now on; this one ends soon and sends nothing more.
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
