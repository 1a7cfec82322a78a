// Everything at once, by seeds: a seed that fails is printed, and fails again.
#include "unit/pool/simulation.h"

#include "fakes/seeds.h"

namespace pool {
namespace {

TEST(PoolSimulation, keeps_every_promise_whatever_happens) {
  const fakes::Seeds seeds;
  std::map<std::string, std::uint64_t> seen;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Simulation simulation(seed);
    simulation.run(seeds.events);
    ASSERT_EQ(simulation.wrong(), "") << seeds.again(seed);
    for (const auto& [what, count] : simulation.seen()) seen[what] += count;
  }
  for (const char* what : {"rewind", "fork", "classic", "failed", "refused", "left"}) {
    EXPECT_GT(seen[what], 0u) << what << ": the simulation does not come to it";
  }
}

}  // namespace
}  // namespace pool
