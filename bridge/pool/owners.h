// What is reported to those that own workers and generations. All functions run on the loop.
#pragma once

#include <string>

#include "message/channel_message.h"
#include "worker/starter.h"
#include "worker/worker_state.h"

namespace pool {

class Turn;

// What a pool is told about its workers. None may destroy them.
class WorkersOwner {
 public:
  virtual void on_change() = 0;  // something that a pump should look at
  // The turn's request is over, and its worker has let go of it. Ends the turn, and so may destroy
  // it.
  virtual worker::Printed on_ended(Turn& turn, const worker::Ending& ending) = 0;
  // The turn's worker ended without having begun the request: the turn waits again.
  virtual void on_unbegun(Turn& turn) = 0;
  virtual void on_note(const message::Received& note) = 0;
  // A worker executed another program in its request.
  virtual void on_executed(const std::string& path) = 0;
  // A worker that should have been in its first state was not. When this returns, no worker of that
  // zygote is given a request any more.
  virtual void on_difference(const std::string& difference) = 0;

 protected:
  ~WorkersOwner() = default;
};

// What is reported about a generation, besides what its starter answers. None may destroy the
// generation before the end of the turn.
class GenerationOwner : public worker::StarterClient {
 public:
  virtual void on_change() = 0;  // warmth() may have changed

 protected:
  ~GenerationOwner() = default;
};

// What a pool is told about its generations.
class GenerationsOwner {
 public:
  virtual void on_change() = 0;  // settle() has something to do

 protected:
  ~GenerationsOwner() = default;
};

}  // namespace pool
