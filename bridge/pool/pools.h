// All pools of the bridge, by program.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pool/pool.h"

namespace pool {

// How many programs are kept warm and for how long.
struct WarmLimits {
  unsigned zygotes_max = 200;
  base::Duration zygote_idle_timeout = std::chrono::minutes(10);
};

class Pools {
 public:
  explicit Pools(Surroundings surroundings);

  // The pool of the program with that resolved path; made if it is new. Lives until the pools do,
  // or until it was quiet for zygote_idle_timeout.
  Pool& of(const std::string& program);

  void set_limits(const WarmLimits& limits) { limits_ = limits; }
  std::vector<PoolStatus> status() const;
  std::size_t size() const { return pools_.size(); }
  const Surroundings& surroundings() const { return surroundings_; }
  // Programs that were not started as the user whom the settings name.
  std::uint64_t starts_refused() const { return surroundings_.identities.refused(); }

 private:
  void tidy_up();
  void cool_least_used();

  Surroundings surroundings_;
  WarmLimits limits_;
  std::unordered_map<std::string, std::unique_ptr<Pool>> pools_;
  loop::Timer tidy_timer_;
};

}  // namespace pool
