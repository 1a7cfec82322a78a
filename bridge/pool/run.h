// One request's turn on a program: it waits for room, runs, and ends.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cgi/refusal.h"
#include "compare/arm.h"
#include "config/program_settings.h"
#include "loop/timer.h"
#include "pool/warm_share.h"
#include "upstream/answer_sink.h"
#include "worker/worker.h"

namespace pool {

class Pool;

// Whether somebody waits for the answer. shadow: it is only compared; such a run counts nowhere,
// takes no place of workers.max, stands behind all clients', and is refused where a client's would
// run classic instead.
enum class ForWhom { client, shadow };

// What a request brings to its program. Everything is borrowed and lives as long as the Run.
struct Job {
  const std::vector<std::string>& query_words;  // behind the program's own argv
  base::ByteView environment;                   // "K=V\0..."
  std::uint32_t environment_count;
  // Which side it is given. A client's runs classic all the same while the program is not warm.
  compare::Side side = compare::Side::persistent;
  ForWhom for_whom = ForWhom::client;
};

// The request's side. All run on the loop, and none before Run's constructor has returned; all
// but descriptors(), body() and what an AnswerSink is told may destroy the Run.
//
// A program that speaks FastCGI has no descriptors of its own for a request: it is given body(),
// and its answer comes by the AnswerSink.
class RunClient : public upstream::AnswerSink {
 public:
  // The program is about to start: makes the three descriptors that become its 0, 1 and 2. They
  // are borrowed, and asked for again if a worker that had been given them was gone before it
  // began: then the same ones have to be there still. What shows that it has begun is output of it,
  // or its end.
  virtual base::Result<std::array<int, 3>> descriptors() = 0;

  // The same for one that speaks FastCGI: where the request's body can be read, a copy of the
  // descriptor; none if there is no body.
  virtual base::Result<base::UniqueFd> body() = 0;

  // The program has them, for the first time. arm: how it really runs.
  virtual void on_started(compare::Arm arm) = 0;

  // The program came to its end. Its output may still be in the pipes, and is read now, as far as
  // the client takes it: whether there was, or will be, any.
  virtual worker::Printed on_ended(const worker::Ending& ending) = 0;

  // It does not run: no room in time (503), or it could not be started (502). After on_started()
  // only if a worker was gone before it began.
  virtual void on_refused(const cgi::Refusal& refusal) = 0;
};

// When one that was refused for want of a worker (503) may ask again: those who wait now have had
// theirs by then. nullptr: it was refused for another reason, and 0 seconds says nothing.
std::chrono::seconds retry_after(const config::ProgramSettings* refused);

// Owned by the request. Destroying it while it waits takes it out of the queue; while it runs,
// terminates the program (TERM, then KILL, to its process group).
class Run : private upstream::AnswerSink {
 public:
  Run(Pool& pool, Job job, RunClient& client);
  ~Run() override;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Ends the program; on_ended() follows when it has died.
  void terminate();

  // The client has room again for output that it is told of.
  void resume();

  // Another client hears of its end from here on. Only while it runs.
  void hand_over(RunClient& client) { client_ = &client; }

  // How long it waited for its program, so far or in all.
  std::chrono::microseconds queue_time() const;
  const Job& job() const { return job_; }
  bool running() const { return worker_ != nullptr; }
  pid_t pid() const { return worker_ == nullptr ? -1 : worker_->pid(); }

 private:
  friend class Pool;
  friend class Workers;

  // upstream::AnswerSink, for the client of now
  bool has_room() const override { return client_->has_room(); }
  void on_output(base::ByteView bytes) override { client_->on_output(bytes); }
  void on_errors(base::ByteView bytes) override { client_->on_errors(bytes); }

  Pool& pool_;
  const Job job_;
  RunClient* client_;
  std::unique_ptr<loop::Timer> queue_timer_;  // made only if it has to wait
  const base::TimePoint since_;
  base::TimePoint started_at_{};
  worker::Worker* worker_ = nullptr;  // while it runs; the pool's
  enum class Place { queued, running, over } place_ = Place::queued;
  compare::Arm arm_ = compare::Arm::classic;  // how it runs
  std::uint64_t judged_for_ = 0;  // the generation of which it is known whether it suits
  bool suits_ = true;
  Cold cold_ = Cold::not_at_all;
  unsigned starts_ = 0;  // more than one: workers were gone before they began it
};

}  // namespace pool
