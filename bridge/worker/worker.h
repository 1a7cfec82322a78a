// A worker: a process that answers requests, one at a time. One forked by a zygote waits warm and
// gets its request by message; one of classic mode is the program itself, launched for its request.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "loop/timer.h"
#include "message/channel_message.h"
#include "worker/channel.h"
#include "worker/child_reaper.h"

namespace worker {

// The life of a worker. ending: the program came to its end and said so; the process is not gone
// yet. A state is only left forwards.
enum class WorkerState { starting, idle, busy, ending, gone };
std::string_view to_string(WorkerState state);

// How a request's program ended.
struct Ending {
  std::uint32_t app_status;  // exit code, or 128 + signal
  std::string description;   // empty if it exited by itself
};

// Owned by its pool, which destroys it at the end of a turn, never from one of its callbacks.
class Worker {
 public:
  // All run on the loop; none may destroy the worker.
  struct Events {
    std::function<void(Worker&)> on_ready;  // starting → idle
    std::function<void(Worker&)> on_gone;   // reaped, or lost before it was ever there
    std::function<void(const message::Received&)> on_note;
  };
  using OnEnded = std::function<void(const Ending&)>;

  Worker(loop::Loop& loop, ChildReaper& reaper, std::uint64_t id, std::string label,
         base::Duration kill_grace, Events events);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes over our end of the channel whose other end a zygote's fork_worker() got.
  void await_fork(base::UniqueFd channel_fd);

  // Takes over a program that launch() started for one request: starting → busy.
  void adopt(pid_t pid, OnEnded on_ended);

  // Sends a request to an idle worker: idle → busy. fds as in message/wire.h, borrowed. On failure
  // the worker is of no use any more (it will be gone) and on_ended is not called.
  // on_ended runs once: at `done`, or at the worker's death if that comes first.
  base::Status assign(const message::EncodedRequest& request, std::span<const int> fds,
                      OnEnded on_ended);

  // Nobody waits for its answer any more: SIGTERM to its process group, SIGKILL after kill_grace
  // to what is left of the group. on_ended may still run. May be called twice.
  void terminate();

  // From here on on_ended is not called: the request is gone. The process is left alone.
  void forget_request() { on_ended_ = nullptr; }

  // An idle worker is told to exit (its channel is closed); it will be gone.
  void retire();

  std::uint64_t id() const { return id_; }
  pid_t pid() const { return pid_; }
  WorkerState state() const { return state_; }
  // Whether terminate() was called: it serves nobody any more, whatever its state.
  bool terminating() const { return grace_timer_ != nullptr; }
  base::TimePoint idle_since() const { return idle_since_; }

 private:
  void on_message(const message::Received& received);
  void on_broken(const std::string& why);
  void become_ready(pid_t pid);
  void end_request(const Ending& ending);
  void on_death(int wait_status);
  void kill_rest();
  void enter(WorkerState next);

  loop::Loop& loop_;
  ChildReaper& reaper_;
  const std::uint64_t id_;
  const std::string label_;
  const base::Duration kill_grace_;
  Events events_;
  OnEnded on_ended_;
  WorkerState state_ = WorkerState::starting;
  pid_t pid_ = -1;
  base::TimePoint idle_since_{};
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<loop::Timer> grace_timer_;  // made only when it is needed
  bool dead_ = false;                         // has died, but is held for its group's sake
};

}  // namespace worker
