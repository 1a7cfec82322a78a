// Everything at once, from seeds: a failing seed is printed, and fails again.
#include "unit/pool/simulation.h"

namespace pool {
namespace {

TEST(PoolSimulation, keeps_every_promise_whatever_happens) {
  fakes::play<Simulation>({"rewind", "fork", "classic", "failed", "refused", "left"});
}

}  // namespace
}  // namespace pool
