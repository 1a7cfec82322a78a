// A request's turn to use a program, as the pool and the workers that serve it see it: it waits,
// runs, and is over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "loop/timer.h"
#include "pool/job.h"
#include "pool/warm_share.h"

namespace pool {

class StandIn;

// Owned by its Run, through which the client sees it. Each change of state is one of the functions
// below, which check that it is allowed: a turn is never given to two workers, and its client is
// told about one end only.
class Turn : public upstream::AnswerSink {
 public:
  enum class State { queued, running, over };

  Turn(Job job, RunClient& client, base::TimePoint now);
  ~Turn() override;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  const Job& job() const { return job_; }
  bool is_for_client() const { return job_.for_whom == ForWhom::client; }
  State state() const { return state_; }
  RunClient& client() { return *client_; }
  void set_client(RunClient& client) { client_ = &client; }

  // ---- while it is queued ----

  // Calls on_late after that time, unless it runs or is over then.
  void set_deadline(loop::Loop& loop, base::Duration timeout, std::function<void()> on_late);
  // Whether it has been in the queue since an earlier turn of the loop.
  bool has_waited() const { return deadline_ != nullptr; }
  // This worker gets it, and answers it by that arm.
  void give_to(worker::Worker& worker, compare::Arm arm);
  // It will not run. May destroy this.
  void refuse(const cgi::Refusal& refusal);

  // ---- while it runs ----

  // Its program has got its descriptors. The client is told the first time, and may destroy this
  // object.
  void begin(base::TimePoint now);
  // Its worker was gone before it began: the turn is queued again.
  void take_back();
  // May destroy this.
  worker::Printed end(const worker::Ending& ending);
  // Another worker is to take the place of its own, which executes a file; over: its own has done
  // so itself, or is gone.
  void let_stand_in(std::unique_ptr<StandIn> stand_in);
  void stand_in_is_over();
  // The process that runs its program; -1: none, perhaps not any more.
  pid_t pid() const;
  // The worker that has it; nullptr unless it runs.
  worker::Worker* worker() const { return worker_; }
  compare::Arm arm() const { return arm_; }

  // ---- what is known about it ----

  unsigned starts() const { return starts_; }  // more than one: workers were gone before they began
  void set_cold(Cold why) { cold_ = why; }
  Cold cold() const { return cold_; }
  // Whether that generation's zygote was launched with the values that this request brings; none:
  // not known.
  std::optional<bool> suits(std::uint64_t generation) const;
  void judge(std::uint64_t generation, bool suits);
  // Whether it waits for a warm worker, and not only for room to run classic.
  bool wants_worker() const { return job_.side == compare::Side::persistent && suits_; }
  // How long it has waited for its program, so far or in total.
  std::chrono::microseconds queue_time(base::TimePoint now) const;

  // upstream::AnswerSink, for the current client
  bool has_room() const override { return client_->has_room(); }
  void on_output(base::ByteView bytes) override { client_->on_output(bytes); }
  void on_errors(base::ByteView bytes) override { client_->on_errors(bytes); }

 private:
  const Job job_;
  RunClient* client_;
  const base::TimePoint since_;
  base::TimePoint started_at_{};
  State state_ = State::queued;
  std::unique_ptr<loop::Timer> deadline_;  // made only if it has to wait
  worker::Worker* worker_ = nullptr;
  std::unique_ptr<StandIn> stand_in_;
  compare::Arm arm_ = compare::Arm::classic;
  std::uint64_t judged_for_ = 0;  // the generation that suits_ is about
  bool suits_ = true;
  Cold cold_ = Cold::not_at_all;
  unsigned starts_ = 0;
};

}  // namespace pool
