// The old side of an upgrade: a new process of the binary takes over.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loop/fd_watch.h"
#include "loop/timer.h"
#include "upgrade/handover.h"
#include "worker/processes.h"

namespace upgrade {

// Owned by the daemon. Destroying it before take_over() ends the new process.
class Successor {
 public:
  // All run on the loop; none may destroy this object.
  struct Events {
    std::function<void()> on_ready;                         // take_over() may be called
    std::function<void(const std::string& why)> on_failed;  // the new process is gone
  };
  // The program to start, and what it gets. The descriptors are borrowed for start().
  struct Terms {
    std::string binary;
    std::vector<std::string> words;                      // its command
    std::vector<std::pair<std::string, int>> listeners;  // name, socket
    std::string control_path;
    int control = -1;
    std::vector<pool::WarmNote> programs;
  };

  Successor(loop::Loop& loop, worker::Processes& processes, Events events);
  ~Successor();
  Successor(const Successor&) = delete;
  Successor& operator=(const Successor&) = delete;

  base::Status start(const Terms& terms);
  pid_t pid() const { return pid_; }

  // From now on the new process serves, and on_failed is not called any more.
  base::Status take_over();
  // Hands over a connection on which nothing is open.
  void pass_on(const base::UniqueFd& connection);

 private:
  base::Status launch(const Terms& terms, int channel_end);
  base::Status tell(const Terms& terms);
  void on_packet();
  // Whether this packet from the new process says why it does not start: then that is the reason.
  bool heard_why_it_failed(const HandoverPacket& packet);
  void fail(const std::string& why);

  loop::Loop& loop_;
  worker::Processes& processes_;
  const Events events_;
  pid_t pid_ = -1;
  bool taken_over_ = false;
  bool failed_ = false;
  base::UniqueFd channel_;
  std::unique_ptr<loop::FdWatch> watch_;
  loop::Timer patience_;
};

}  // namespace upgrade
