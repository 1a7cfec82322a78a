// Which seeds a simulation plays, and how long; environment variables override this.
#pragma once

#include <cstdlib>
#include <string>

namespace fakes {

struct Seeds {
  unsigned first = from_environment("CGIBRIDGE_SIMULATION_SEED", 1);
  unsigned count = from_environment("CGIBRIDGE_SIMULATION_SEEDS", 20);
  unsigned events = from_environment("CGIBRIDGE_SIMULATION_EVENTS", 2000);  // per seed

  // The environment that plays this seed again.
  std::string again(unsigned seed) const {
    return "CGIBRIDGE_SIMULATION_SEEDS=1 CGIBRIDGE_SIMULATION_SEED=" + std::to_string(seed) +
           " CGIBRIDGE_SIMULATION_EVENTS=" + std::to_string(events);
  }

 private:
  static unsigned from_environment(const char* name, unsigned otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  }
};

}  // namespace fakes
