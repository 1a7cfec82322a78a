// Everything at once, by seeds: a seed that fails is printed, and fails again.
#include <gtest/gtest.h>

#include "fakes/seeds.h"
#include "unit/gateway/simulation.h"

namespace gateway {
namespace {

TEST(GatewaySimulation, gives_every_request_its_end_whatever_happens) {
  const fakes::Seeds seeds;
  std::map<std::string, std::uint64_t> seen;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Simulation simulation(seed);
    simulation.run(seeds.events);
    ASSERT_EQ(simulation.wrong(), "") << seeds.again(seed);
    for (const auto& [what, count] : simulation.seen()) seen[what] += count;
  }
  for (const char* what : {"asked", "answered", "error", "aborted", "broken off"}) {
    EXPECT_GT(seen[what], 0u) << what << ": the simulation does not come to it";
  }
}

}  // namespace
}  // namespace gateway
