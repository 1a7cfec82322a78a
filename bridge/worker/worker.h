// A worker: a process that answers requests, one at a time. A worker forked by a zygote waits warm
// and gets its requests by message; a worker in classic mode is the program itself, launched for
// its request.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "message/channel_message.h"
#include "worker/channel.h"
#include "worker/child.h"
#include "worker/worker_state.h"

namespace worker {

// Owned by its pool, which destroys it at the end of a turn.
class Worker : private ChildOwner, private ChannelOwner {
 public:
  Worker(loop::Loop& loop, Processes& processes, std::uint64_t id, const std::string& label,
         base::Duration kill_grace, WorkerOwner& owner);
  virtual ~Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes over our end of the channel whose other end a zygote's fork_worker() got.
  void await_fork(base::UniqueFd channel_fd);

  // Takes over a program that launch() started for one request: starting → busy.
  void adopt(pid_t pid);

  // Sends a request to an idle worker: idle → busy. request_id: an id that no other request had.
  // say_ready: as encoded in request; if yes, the worker is checked after this request. fds: as in
  // message/wire.h, borrowed. On failure the worker is no longer usable (it will be gone) and
  // WorkerOwner::on_ended() is not called.
  base::Status assign(std::uint64_t request_id, message::SayReady say_ready,
                      const message::EncodedRequest& request, std::span<const int> fds);

  // Asks an idle worker to report when it has put itself back; it stays idle. An error if it did
  // not answer the last time.
  base::Status ask_whether_at_rest();

  // Answers WorkerOwner::on_execute(), once: peer is our end of the socket by which another worker
  // gets its descriptors; without one it executes the file itself. tell_executed(): that other
  // worker has ended the request, so this one's ends, too.
  void answer_execute(base::UniqueFd peer);
  void tell_executed();

  // Its zygote found no difference: checking → idle.
  void pass_check();
  // Nobody waits for its answer any more: sends SIGTERM to its process group, and after kill_grace
  // SIGKILL to what is left of the group. on_ended() may still run. May be called twice. A worker
  // that is starting, so that its process is not known, is gone at once.
  virtual void terminate();

  // on_ended() is not called any more: the request is gone. The process is left alone.
  virtual void forget_request() { end_is_awaited_ = false; }

  // Tells a worker without a request to exit (its channel ends); it will be gone.
  virtual void retire();

  // Its request's client takes output again; has no effect on a worker that writes into pipes.
  virtual void resume() {}

  // Whether it ended before it was ready.
  virtual bool lost() const { return !child_.is_owned(); }
  const std::string& lost_why() const { return lost_why_; }

  std::uint64_t id() const { return id_; }
  pid_t pid() const { return child_.pid(); }
  WorkerState state() const { return state_; }
  // Whether terminate() was called: it serves nobody any more, whatever its state.
  bool terminating() const { return child_.terminating(); }
  base::TimePoint state_since() const { return state_since_; }
  std::uint64_t served() const { return served_; }            // requests that came to their `done`
  base::TimePoint idle_since() const { return idle_since_; }  // its fork, or its last `done`

 protected:
  // For other kinds of workers (upstream/), which get their requests another way.
  void own_pid(pid_t pid) { child_.own(pid); }
  bool is_dead() const { return child_.is_dead(); }
  void become_ready();
  // end_request_and_stay(): the request given to begin_request() is over and the process stays:
  // busy → idle or resetting.
  void begin_request();
  void end_request_and_stay(WorkerState next, const Ending& ending);
  void enter(WorkerState next);
  void give_request_back();
  void explain() { explained_ = true; }
  void lost_for(std::string why) { lost_why_ = std::move(why); }
  Processes& processes() { return processes_; }
  WorkerOwner& owner() { return owner_; }
  const std::string& label() const { return label_; }
  base::Duration kill_grace() const { return child_.grace(); }
  void on_death(const Death& death) override;
  virtual Ending ending_of(const Death& death) const;

 private:
  // ChildOwner
  void on_over() override;
  void on_overdue() override;

  // ChannelOwner
  void on_message(const message::Received& received) override;
  void on_broken(ChannelEnd end, const std::string& why) override;

  void on_ready_message(pid_t pid);
  void on_execute_message(const message::Received& received);
  void on_done(const message::Received& done);
  void on_retired_message(const message::Received& received);
  void end_request(const Ending& ending);
  void explain_death(int wait_status);
  bool has_no_request() const;

  loop::Loop& loop_;
  Processes& processes_;
  const std::uint64_t id_;
  const std::string& label_;
  WorkerOwner& owner_;
  WorkerState state_ = WorkerState::starting;
  base::TimePoint state_since_ = loop_.now();
  Child child_;
  std::uint64_t request_id_ = 0;
  message::SayReady say_ready_ = message::SayReady::no;
  std::uint64_t served_ = 0;
  base::TimePoint idle_since_{};
  std::unique_ptr<Channel> channel_;
  unsigned notes_ = 0;     // of the current request
  unsigned executes_ = 0;  // of the request, that it asked about
  std::string lost_why_;
  bool end_is_awaited_ = false;  // of the request that it was given
  bool asked_ = false;           // to say when it is at rest
  bool explained_ = false;       // the reason for its end is known, or we asked for it
};

}  // namespace worker
