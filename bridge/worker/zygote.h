// A zygote: a process of one program, stopped at its checkpoint; it only forks workers.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "loop/timer.h"
#include "worker/channel.h"
#include "worker/launch.h"
#include "worker/log_pipe.h"
#include "worker/processes.h"
#include "worker/starter.h"

namespace worker {

enum class ZygoteState { starting, ready, gone };
std::string_view to_string(ZygoteState state);

// Owned by a generation, or by an AheadStarter, for which it becomes a worker itself. Destroying it
// kills its process group at once.
class Zygote : public Forerunner, private ChannelOwner {
 public:
  // client: is answered only with Making::forked.
  Zygote(loop::Loop& loop, Processes& processes, StartTerms terms, Making making,
         StarterOwner& owner, StarterClient& client);
  ~Zygote() override;
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  base::Status start(const WarmProgram& program) override;
  base::Status fork_worker(std::uint64_t worker_id, base::UniqueFd channel_end) override;
  base::Status verify_worker(std::uint64_t look_id, pid_t worker_pid) override;

  // Makes it become that worker itself, with Making::ahead. Only in state ready. Then it is gone,
  // and its process belongs to the worker, which reports so on channel_end. No event follows.
  base::Status become_worker(std::uint64_t worker_id, base::UniqueFd channel_end) override;

  ZygoteState state() const { return state_; }
  pid_t pid() const override { return pid_; }
  config::Level level() const override { return level_; }
  base::Duration start_time() const override { return start_time_; }
  config::Reset reset() const override { return reset_; }
  const std::string& reset_reason() const override { return reset_reason_; }

 private:
  // ChannelOwner
  void on_message(const message::Received& received) override;
  void on_broken(ChannelEnd end, const std::string& why) override;

  void on_note(const message::Received& received);
  void on_checkpoint(const message::Received& received);
  void end(const std::string& why);
  void on_death(int wait_status);

  loop::Loop& loop_;
  Processes& processes_;
  const StartTerms terms_;
  const Making making_;
  StarterOwner& owner_;
  StarterClient& client_;
  ZygoteState state_ = ZygoteState::starting;
  pid_t pid_ = -1;
  config::Level level_ = config::Level::linked;
  config::Reset reset_;
  std::string reset_reason_;
  base::TimePoint launched_at_;
  base::Duration start_time_{0};
  std::string end_reason_;  // why we killed it
  unsigned notes_ = 0;      // that it has sent
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<LogPipe> stderr_;
  loop::Timer start_timer_;
};

}  // namespace worker
