// All pools of the bridge, by program.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "policy/shares.h"
#include "pool/pool.h"

namespace pool {

// How many programs are kept warm and for how long, and how many may run at once in all.
struct PoolLimits {
  unsigned workers_max = 512;
  unsigned zygotes_max = 200;
  base::Duration zygote_idle_timeout = std::chrono::minutes(10);
};

// What another bridge that is to make the same programs warm needs to know.
struct WarmNote {
  std::string program;
  std::vector<std::string> learned;  // modules, as Pool::inherit() takes them
  std::string environment;           // the constant part, as Pool::refresh() takes it
};

class Pools {
 public:
  explicit Pools(Surroundings surroundings);

  // The pool of the program with that path; made if it is new. Lives as long as the pools, or until
  // it has been quiet for zygote_idle_timeout.
  Pool& of(const std::string& program);
  // The same for what a program executes; nullptr: the program has kExecutedMost others, or the
  // name cannot be shown.
  static constexpr std::size_t kExecutedMost = 8;
  Pool* executed(const Subject& subject);

  void set_limits(const PoolLimits& limits);
  void set_judge(decltype(Surroundings::judge) judge) { surroundings_.judge = std::move(judge); }
  const policy::Shares& shares() const { return shares_; }
  std::vector<PoolStatus> status() const;
  // Whether that program is known and is being made warm.
  bool is_warming(const std::string& program) const;
  std::vector<WarmNote> warm_notes() const;
  std::size_t size() const { return pools_.size(); }
  const Surroundings& surroundings() const { return surroundings_; }
  // Starts and requests that were refused because of the program's user or sandbox.
  std::uint64_t starts_refused() const { return surroundings_.identities.refused(); }
  const limits::Cgroups& cgroups() const { return surroundings_.cgroups; }

 private:
  void tidy_up();
  void cool_least_used();

  Surroundings surroundings_;
  PoolLimits limits_;
  policy::Shares shares_;                                         // places of bridge.workers_max
  std::unordered_map<std::string, std::unique_ptr<Pool>> pools_;  // by path, or key of a Subject
  std::unordered_set<std::string> with_many_;  // programs that execute too many others
  loop::Timer tidy_timer_;
};

}  // namespace pool
