// What a request holds of its turn on a program.
#pragma once

#include <chrono>

#include "config/program_settings.h"
#include "pool/turn.h"

namespace pool {

class Pool;

// When one that was refused for want of a worker (503) may ask again: those who wait now have had
// theirs by then. nullptr: it was refused for another reason, and 0 seconds says nothing.
std::chrono::seconds retry_after(const config::ProgramSettings* refused);

// Owned by the request. Destroying it while it waits takes it out of the queue; while it runs,
// terminates the program (TERM, then KILL, to its process group).
class Run {
 public:
  Run(Pool& pool, Job job, RunClient& client);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Ends the program; on_ended() follows when it has died.
  void terminate();

  // The client has room again for output that it is told of.
  void resume();

  // Another client hears of its end from here on. Only while it runs.
  void hand_over(RunClient& client) { turn_.set_client(client); }

  // How long it waited for its program, so far or in all.
  std::chrono::microseconds queue_time() const;
  const Job& job() const { return turn_.job(); }
  bool running() const { return turn_.worker() != nullptr; }
  pid_t pid() const { return running() ? turn_.worker()->pid() : -1; }

 private:
  Pool& pool_;
  Turn turn_;
};

}  // namespace pool
