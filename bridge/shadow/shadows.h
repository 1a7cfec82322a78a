// The requests that are answered a second time, on the other side, and the results.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "compare/comparison.h"
#include "loop/loop.h"
#include "pool/pools.h"
#include "shadow/second_run.h"

namespace shadow {

// Owned by the gateway. A client's answer is never held up by it: a task is added once the client
// has its answer; tasks beyond Shadow::queue are counted and dropped; Shadow::concurrent of a
// program run at once, one after the other: the persistent side, and if its answer differs, classic
// once more.
class Shadows {
 public:
  // Runs on the loop, once for each compared task.
  using OnCompared = std::function<void(const std::string& program, compare::Match match)>;

  // The references must outlive it.
  Shadows(loop::Loop& loop, pool::Pools& pools, compare::Comparisons& comparisons,
          OnCompared on_compared);

  void add(Task task);
  // Drops waiting tasks and ends running ones.
  void clear();

  std::size_t waiting() const { return waiting_.size(); }
  std::size_t running() const { return running_.size(); }

 private:
  struct Comparing {
    Task task;
    bool over = false;
    compare::Arm arm = compare::Arm::rewind;
    compare::Answer persistent{};
    std::unique_ptr<SecondRun> run;      // running
    std::unique_ptr<SecondRun> was_run;  // until the end of the turn
  };

  void pump();
  std::size_t waiting_of(const std::string& program) const;
  std::size_t running_of(const std::string& program) const;
  void begin(Task task);
  void run(Comparing& comparing, compare::Side side, SecondRun::OnOver on_over);
  void on_persistent(Comparing& comparing, SecondRun::Outcome outcome);
  void on_control(Comparing& comparing, SecondRun::Outcome outcome);
  void tell(const Task& task, compare::Match match);
  void end(Comparing& comparing);

  loop::Loop& loop_;
  pool::Pools& pools_;
  compare::Comparisons& comparisons_;
  const OnCompared on_compared_;
  std::deque<Task> waiting_;
  std::list<Comparing> running_;
  loop::Deferred pump_;
};

}  // namespace shadow
