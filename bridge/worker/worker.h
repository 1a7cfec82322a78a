// A worker: a process that answers requests, one at a time. One forked by a zygote waits warm and
// gets its requests by message; one of classic mode is the program itself, launched for its
// request.
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

// The life of a worker (the table is in README.md). idle: takes a request; it may still be
// resetting itself behind the one before, which then waits in its channel. resetting: the same, but
// it is to be checked before it takes another. checking: its zygote looks at it. ending: it serves
// nobody any more; the process is not gone yet.
enum class WorkerState { starting, idle, busy, resetting, checking, ending, gone };
std::string_view to_string(WorkerState state);
// Behind a request, and not to be given another yet.
constexpr bool is_returning(WorkerState state) {
  return state == WorkerState::resetting || state == WorkerState::checking;
}

// How a request's program ended.
struct Ending {
  std::uint32_t app_status = 0;  // exit code, or 128 + signal
  std::string description;       // empty if it exited by itself
  // Used by the request and the children it waited for; by the process at its peak (0: not known).
  std::chrono::microseconds cpu{};
  std::uint64_t peak_kib = 0;
};

// Beside enum retirement: it ended in the middle of a request, by _exit(), exec() or a signal.
constexpr std::uint32_t kRetiredLeft = RETIREMENTS;

class Worker;

// What its pool hears of a worker. All run on the loop; none may destroy the worker.
class WorkerOwner {
 public:
  virtual ~WorkerOwner() = default;

  virtual void on_ready(Worker& worker) = 0;  // starting → idle
  // The program of its request came to its own end, as done says: busy → idle, resetting or ending.
  // The request hears of it next.
  virtual void on_done(Worker& worker, const message::Received& done) = 0;
  // resetting → checking: its zygote may look at it now.
  virtual void on_reset_over(Worker& worker) = 0;
  // It will serve no more, by its own word or because it died; retirement: enum retirement or
  // kRetiredLeft. Not told of a worker that was told to end, nor of one whose DONE said so.
  virtual void on_retired(Worker& worker, std::uint32_t retirement, const std::string& why) = 0;
  // It ends without having begun the request that it was given, whose on_ended will not be called:
  // another may take it.
  virtual void on_unbegun(Worker& worker) = 0;
  virtual void on_gone(Worker& worker) = 0;  // reaped, or lost before it was ever there
  virtual void on_note(Worker& worker, const message::Received& note) = 0;
};

// Owned by its pool, which destroys it at the end of a turn.
class Worker {
 public:
  using OnEnded = std::function<void(const Ending&)>;

  Worker(loop::Loop& loop, ChildReaper& reaper, std::uint64_t id, const std::string& label,
         base::Duration kill_grace, WorkerOwner& owner);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes over our end of the channel whose other end a zygote's fork_worker() got.
  void await_fork(base::UniqueFd channel_fd);

  // Takes over a program that launch() started for one request: starting → busy.
  void adopt(pid_t pid, OnEnded on_ended);

  // Sends a request to an idle worker: idle → busy. request_id: one that no other request had.
  // say_ready: as encoded in request; then it is checked behind this request. fds as in
  // message/wire.h, borrowed. On failure the worker is of no use any more (it will be gone) and
  // on_ended is not called. on_ended runs once: at `done`, or at the worker's death if that comes
  // first; not at all after on_unbegun().
  base::Status assign(std::uint64_t request_id, message::SayReady say_ready,
                      const message::EncodedRequest& request, std::span<const int> fds,
                      OnEnded on_ended);

  // Its zygote found no difference: checking → idle.
  void pass_check();

  // Nobody waits for its answer any more: SIGTERM to its process group, SIGKILL after kill_grace
  // to what is left of the group. on_ended may still run. May be called twice.
  void terminate();

  // From here on on_ended is not called: the request is gone. The process is left alone.
  void forget_request() { on_ended_ = nullptr; }

  // A worker without a request is told to exit (its channel ends); it will be gone.
  void retire();

  std::uint64_t id() const { return id_; }
  pid_t pid() const { return pid_; }
  WorkerState state() const { return state_; }
  // Whether terminate() was called: it serves nobody any more, whatever its state.
  bool terminating() const { return grace_timer_ != nullptr; }
  base::TimePoint state_since() const { return state_since_; }
  std::uint64_t served() const { return served_; }            // requests that came to their `done`
  base::TimePoint idle_since() const { return idle_since_; }  // its fork, or its last `done`

 private:
  void on_message(const message::Received& received);
  void on_broken(ChannelEnd end, const std::string& why);
  void on_ready_message(pid_t pid);
  void on_done(const message::Received& done);
  void on_retired_message(const message::Received& received);
  void give_request_back();
  void end_request(const Ending& ending);
  void on_death(const Death& death);
  void explain_death(int wait_status);
  void kill_rest();
  void enter(WorkerState next);
  bool has_no_request() const;

  loop::Loop& loop_;
  ChildReaper& reaper_;
  const std::uint64_t id_;
  const std::string& label_;
  const base::Duration kill_grace_;
  WorkerOwner& owner_;
  OnEnded on_ended_;
  WorkerState state_ = WorkerState::starting;
  base::TimePoint state_since_ = base::Clock::now();
  pid_t pid_ = -1;
  std::uint64_t request_id_ = 0;
  message::SayReady say_ready_ = message::SayReady::no;
  std::uint64_t served_ = 0;
  base::TimePoint idle_since_{};
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<loop::Timer> grace_timer_;  // made only when it is needed
  bool explained_ = false;                    // why it ends is known, or asked for by us
  bool dead_ = false;                         // has died; perhaps held for its group's sake
  bool grace_over_ = false;                   // its group was killed
};

}  // namespace worker
