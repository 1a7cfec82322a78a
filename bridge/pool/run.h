// What a request holds of its turn to use a program.
#pragma once

#include <chrono>

#include "config/program_settings.h"
#include "pool/turn.h"

namespace pool {

class Pool;

// When a request that was refused because no worker was free (503) may be sent again: by then,
// those that wait now have had their turn. nullptr: it was refused for another reason, and 0
// seconds means nothing.
std::chrono::seconds retry_after(const config::ProgramSettings* refused);

// Owned by the request. Destroying it takes the request out of the queue if it waits; if it runs,
// it terminates the program (TERM, then KILL, to its process group).
class Run {
 public:
  Run(Pool& pool, Job job, RunClient& client);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Ends the program; on_ended() follows when it has died.
  void terminate();

  // The client has room again for output that it gets by AnswerSink.
  void resume();

  // From now on another client is told about its end. Only while it runs.
  void hand_over(RunClient& client) { turn_.set_client(client); }

  // How long it waited for its program, so far or in total.
  std::chrono::microseconds queue_time() const;
  const Job& job() const { return turn_.job(); }
  bool running() const { return turn_.worker() != nullptr; }
  pid_t pid() const { return turn_.pid(); }

 private:
  Pool& pool_;
  Turn turn_;
};

}  // namespace pool
