// Everything at once, from seeds: a failing seed is printed, and fails again.
#include <gtest/gtest.h>

#include "unit/gateway/simulation.h"

namespace gateway {
namespace {

TEST(GatewaySimulation, gives_every_request_its_end_whatever_happens) {
  fakes::play<Simulation>({"asked", "answered", "error", "aborted", "broken off"});
}

}  // namespace
}  // namespace gateway
