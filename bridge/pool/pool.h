// One program's workers and the requests that wait for them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/settings.h"
#include "pool/generation.h"
#include "pool/plan.h"
#include "pool/run.h"
#include "pool/workers.h"
#include "router/resolver.h"

namespace pool {

// What `status` says of a program.
struct PoolStatus {
  std::string program;
  std::string name;
  config::Mode mode;
  config::Reset reset_asked;  // by the settings
  config::Reset reset;        // what its workers really do, if it is warm; else reset_asked
  std::string reset_reason;   // why it is not reset_asked
  std::string level;          // "linked", "compiled", "none" (classic), "warming"
  std::string level_reason;   // why it is not deeper
  std::uint64_t generation = 0;
  std::uint64_t newest_generation = 0;  // greater while another is on its way to take over
  unsigned idle = 0, busy = 0, starting = 0, returning = 0;
  std::size_t waiting = 0;
  pid_t zygote_pid = -1;
  std::vector<pid_t> worker_pids;
  std::vector<WorkerStatus> worker_list;
  std::vector<std::string> learned;          // modules loaded before the checkpoint beside preload
  std::uint64_t requests = 0;                // started
  std::uint64_t classic = 0;                 // of them, by fork and exec
  std::uint64_t persistent = 0;              // of them, by a warm worker
  std::uint64_t refused = 0;                 // queue full, waited too long, not startable
  std::uint64_t failed = 0;                  // ended by a signal or with an exit code that is not 0
  std::uint64_t given_back = 0;              // by a worker that ended before it began them
  const Retirements* retirements = nullptr;  // valid as long as the pool is
  const RewindRecord* rewinds = nullptr;
};

// Lives as long as its program is known. Events are noted; one pump() at the end of the turn acts.
class Pool {
 public:
  Pool(const Surroundings& surroundings, std::string program);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // What the next request is about: its settings and the version of the file that was just seen.
  // Another version starts a new generation, and the old one serves nobody from here on; other
  // settings start one too, but the old one serves until the new one is warm.
  // environment: of the request, for what stays constant from one to the next.
  // side: which may answer it. A program is made warm if its mode or this asks for it.
  void refresh(const config::ProgramSettings& settings, const router::FileIdentity& identity,
               std::string_view environment, compare::Side side);
  // Which reset its warm workers have, if it is warm now.
  std::optional<compare::Arm> warm_arm() const;

  PoolStatus status() const;
  const std::string& program() const { return program_; }
  bool has_zygote() const;
  // Nothing runs or waits here.
  bool quiet() const { return waiting_.empty() && beside_.empty() && workers_.empty(); }
  base::TimePoint last_used() const { return last_used_; }
  // Lets all idle workers and the zygote go; they come back with the next request.
  void cool_down();

 private:
  friend class Run;

  // Run's side.
  void enqueue(Run& run);
  void leave(Run& run);
  void give_up(Run& run);

  void pump();
  void serve_clients();
  void serve_shadows();
  void limit_queue();
  bool serve(Run& run);
  bool serve_warm(Run& run);
  unsigned waiting_for_workers() const;
  void start_classic(Run& run);
  void refuse(Run& run, int status, const std::string& reason);
  void carry_out(const PoolPlan& plan);
  void watch_forks();
  void started(Run& run);
  void count_started(const Run& run, int by);
  void on_ended(Run& run, const worker::Ending& ending);
  void on_unbegun(Run& run);
  void on_note(const message::Received& note);
  void demote_if_due();
  void start_generation();
  void adopt_upcoming();
  void look_whether_rested();
  void check_invariants() const;
  PoolView view() const;
  bool runs_any() const;
  bool warm() const { return active_ != nullptr && active_->warmth() == Warmth::warm; }

  const Surroundings& surroundings_;
  const std::string program_;
  config::ProgramSettings settings_;
  router::FileIdentity identity_;
  ConstantVariables constants_;
  std::set<std::string> learned_;
  bool learned_more_ = false;
  unsigned relearned_ = 0;  // generations started for what was learned of this version
  std::string demotion_;    // why this version runs with reset = fork; empty if it does not

  std::unique_ptr<Generation> active_;
  std::unique_ptr<Generation> upcoming_;  // takes over from active_ once it is no longer warming
  std::vector<std::unique_ptr<Generation>> outgoing_;  // destroyed at the end of the turn
  std::uint64_t generations_ = 0;

  std::deque<Run*> waiting_;  // clients'
  std::deque<Run*> beside_;   // shadows'
  Workers workers_;
  unsigned recent_peak_ = 0;
  bool rested_ = false;
  base::TimePoint last_used_{};
  base::TimePoint warmth_wanted_{};  // when a request last might have had a worker
  base::TimePoint cold_since_{};
  PoolStatus counts_;
  loop::Timer rest_timer_;
  loop::Timer fork_timer_;  // runs while requests wait for a fork
  loop::Deferred pump_;
};

}  // namespace pool
