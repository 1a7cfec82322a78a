// A zygote: a process of one program, stopped at its checkpoint; it only forks workers.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "config/settings.h"
#include "loop/timer.h"
#include "worker/channel.h"
#include "worker/child_reaper.h"
#include "worker/launch.h"
#include "worker/log_pipe.h"

namespace worker {

enum class ZygoteState { starting, ready, gone };
std::string_view to_string(ZygoteState state);

// Owned by a generation. Destroying it closes its channel, whereupon it exits by itself; one that
// does not stop within a moment's kindness is killed.
class Zygote {
 public:
  // All run on the loop; none may destroy the zygote.
  struct Events {
    std::function<void()> on_ready;
    // It ended, or was ended by us: why is a sentence with what it said on standard error. Told
    // once, also when it could not be started at all (then from the constructor's caller's turn).
    std::function<void(const std::string& why)> on_gone;
    std::function<void(std::uint32_t kind, const std::string& text)> on_note;
    std::function<void(std::uint64_t worker_id, const std::string& why)> on_fork_failed;
    // A worker was compared with it; difference: the first ones found, or empty.
    std::function<void(std::uint64_t worker_id, const std::string& difference)> on_verified;
  };

  // label names the program in the log. start_timeout: from launch to the checkpoint. reset: what
  // its workers are asked to do; the environment that start() is given says the same.
  Zygote(loop::Loop& loop, ChildReaper& reaper, std::string label, base::Duration start_timeout,
         config::Reset reset, Events events);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Starts it. spec's stdin, stdout, stderr and control_fd are set here; its environment must hold
  // LD_PRELOAD and MESSAGE_CHECKPOINT_VARIABLE.
  base::Status start(const std::string& file, const std::vector<std::string>& argv,
                     base::ByteView environment, std::uint32_t environment_count,
                     const std::string& cwd);

  // Has it fork a worker that listens on channel_end. Only in state ready.
  base::Status fork_worker(std::uint64_t worker_id, base::UniqueFd channel_end);

  // Has it compare that worker, which waits in its reset state, with itself. Only in state ready.
  base::Status verify_worker(std::uint64_t worker_id, pid_t worker_pid);

  ZygoteState state() const { return state_; }
  pid_t pid() const { return pid_; }
  config::Level level() const { return level_; }             // once ready
  base::Duration start_time() const { return start_time_; }  // from launch to ready
  // What its workers really do, once ready, and why that is less than what was asked for.
  config::Reset reset() const { return reset_; }
  const std::string& reset_reason() const { return reset_reason_; }

 private:
  void on_message(const message::Received& received);
  void on_checkpoint(const message::Received& received);
  void end(const std::string& why);
  void on_death(int wait_status);

  loop::Loop& loop_;
  ChildReaper& reaper_;
  const std::string label_;
  const base::Duration start_timeout_;
  Events events_;
  ZygoteState state_ = ZygoteState::starting;
  pid_t pid_ = -1;
  config::Level level_ = config::Level::linked;
  config::Reset reset_;
  std::string reset_reason_;
  base::TimePoint launched_at_;
  base::Duration start_time_{0};
  std::string end_reason_;  // why it was killed by us
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<LogPipe> stderr_;
  loop::Timer start_timer_;
};

}  // namespace worker
