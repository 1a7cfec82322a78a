// The workers of one program: forked, given requests, checked, replaced.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/backoff.h"
#include "policy/plan.h"
#include "policy/recent_peak.h"
#include "policy/reset_costs.h"
#include "policy/retirements.h"
#include "policy/rewind_record.h"
#include "pool/generation.h"
#include "pool/idle_checks.h"
#include "pool/owners.h"
#include "pool/place.h"
#include "pool/turn.h"
#include "worker/worker.h"

namespace pool {

// Owned by its pool, whose settings it reads. Knows from which zygote each worker was forked: a
// worker of another zygote than the serving one finishes its request and takes no more.
class Workers final : private worker::WorkerOwner, private IdleChecksOwner {
 public:
  // No request waits longer than this, once a fork or a reset has begun: it then runs classic.
  static constexpr std::chrono::milliseconds kPatience{1000};

  // The references outlive it.
  Workers(const Surroundings& surroundings, const Subject& subject,
          const config::ProgramSettings& settings, WorkersOwner& owner);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Whose workers serve from now on (nullptr: nobody's). Other generations' idle ones are let go.
  void serve(Generation* generation);

  // Asks the serving generation for one more worker.
  void fork_one();
  void pause_forks();  // after one failed: no worker is asked for during a short pause
  bool may_fork() const { return surroundings_.loop.now() >= no_fork_before_; }

  // What the serving generation's workers do after a request. Valid only while it is warm.
  compare::Arm arm() const;
  bool has_idle() const;
  // How many workers have been idle since that time or longer.
  unsigned idle_since_before(base::TimePoint time) const;
  // Gives the request to an idle worker; false if none took it. An error: it has no descriptors.
  base::Result<bool> give(Turn& turn);
  // The same for a worker that speaks FastCGI, with the body, if there is one.
  bool give_by_fastcgi(Turn& turn, base::UniqueFd body);
  // Launches the program itself for the request.
  base::Status launch(Turn& turn, const ClassicCommand& command, std::span<const int> fds,
                      const limits::Terms& terms);
  // turn is over for its client: its program is ended.
  void abandon(Turn& turn);
  static constexpr std::size_t kAll = ~std::size_t{0};
  void retire_idle(std::size_t count);
  // The result of that look: what the serving generation's zygote found when it compared a worker.
  void verified(std::uint64_t look_id, const worker::Verdict& verdict);
  // Ends a worker that takes too long over its reset. Why the zygote, which takes too long over a
  // fork or a comparison, has to be replaced; or empty.
  std::string end_overdue();
  // Lets workers go that have become too old or too large: each second, if needs_care().
  void care();
  bool needs_care() const;
  // Forgets workers that are gone, lets those go that nobody can check. At the end of a turn.
  void sweep();

  bool empty() const { return places_.empty(); }
  // Whether a worker is about to be idle, or may be forked, so that a request should not run
  // classic although `before` requests wait already. A worker that has to be started ahead of need
  // is worth waiting for only if it is already being started, and only for one request.
  bool worth_waiting(std::size_t before) const;
  // Fills in the counts of workers, and what becomes of them.
  void count(policy::PoolView& view) const;
  std::vector<pid_t> pids() const;
  std::vector<WorkerStatus> list() const;  // sorted by pid
  const policy::Retirements& retirements() const { return retirements_; }
  const policy::RewindRecord& rewinds() const { return rewinds_; }
  policy::ResetCosts reset_costs() const;
  bool any_names_modules() const;  // a worker in a request does; more may come
  // Requests that were started again because the level was wrong for them.
  const policy::RecentShare& started_anew() const { return started_anew_; }
  void forget_started_anew() { started_anew_ = {}; }
  void check_invariants() const;

 private:
  // worker::WorkerOwner
  void on_ready(worker::Worker& worker) override;
  void on_done(worker::Worker& worker, const message::Received& done) override;
  void on_ended(worker::Worker& worker, const worker::Ending& ending) override;
  void on_at_rest(worker::Worker& worker) override;
  void on_reset_over(worker::Worker& worker) override;
  void on_retired(worker::Worker& worker, std::uint32_t retirement,
                  const std::string& why) override;
  void on_unbegun(worker::Worker& worker) override;
  void on_silent(worker::Worker& worker) override;
  void on_gone(worker::Worker& worker) override;
  void on_note(worker::Worker& worker, const message::Received& note) override;
  void on_execute(worker::Worker& worker, const message::Execution& execution) override;
  // IdleChecksOwner
  std::vector<IdleWorker> resting() const override;
  std::uint64_t ask_whether_at_rest(std::uint64_t worker_id) override;

  worker::Worker& add(const ZygoteId& zygote, compare::Arm arm);
  limits::Cgroup* cgroup() { return surroundings_.cgroups.of(subject_.home, settings_.limits); }
  void start_fastcgi_worker();
  worker::Worker& take_idle();
  bool assign(Turn& turn, message::Streams streams, std::span<const int> fds,
              worker::Worker& worker);
  static void take_place(Place& place, Turn& turn);
  message::SayReady whether_to_check(const Place& place);
  void differs(Place& place, const std::string& difference);
  Place* looked_at(std::uint64_t look_id);
  void note_start_time(const Place& place);
  void note_behaviour(Place& place, const message::Received& done);
  void stay(worker::Worker& worker, Place& place, bool printed);
  void settle(worker::Worker& worker, const Place& place);
  void count_retired(const worker::Worker& worker, const Place& place, std::uint32_t retirement,
                     const std::string& why);
  bool serves(const Place& place) const;
  bool is_of_serving_generation(const Place& place) const;

  const Surroundings& surroundings_;
  const Subject& subject_;
  const std::string label_;
  const config::ProgramSettings& settings_;
  WorkersOwner& owner_;
  Generation* generation_ = nullptr;
  std::uint64_t next_worker_id_ = 1;
  std::uint64_t next_request_id_ = 1;
  std::unordered_map<std::uint64_t, Place> places_;
  std::vector<worker::Worker*> idle_;  // the longest idle first; some may be ending
  std::vector<std::uint64_t> gone_;
  base::TimePoint no_fork_before_{};
  policy::Backoff young_deaths_;  // of workers that had been given nothing to do
  std::uint64_t assigned_rewinds_ = 0;
  IdleChecks idle_checks_;
  std::uint64_t next_look_id_ = 1;
  policy::RecentMedian start_times_, forked_start_times_;  // from a fork to its READY
  policy::RecentShare started_anew_;
  policy::Retirements retirements_;
  policy::RewindRecord rewinds_;
};

}  // namespace pool
