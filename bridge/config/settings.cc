#include "config/settings.h"

#include <fnmatch.h>

#include <algorithm>

#include "config/fields.h"

namespace config {

std::vector<ListenAddress> BridgeSettings::all_addresses() const {
  std::vector<ListenAddress> all = listen;
  for (const BoundAddress& one : bound) all.push_back(one.address);
  return all;
}

const ProgramSettings& Settings::for_program(const std::string& path) const {
  for (const ProgramSettings& program : programs) {
    if (::fnmatch(program.match.c_str(), path.c_str(), 0) == 0) return program;
  }
  return defaults;
}

bool same_generation(const ProgramSettings& a, const ProgramSettings& b) {
  return std::ranges::all_of(program_fields(), [&](const Field<ProgramSettings>& field) {
    return field.takes_effect != TakesEffect::new_generation || field.same(a, b);
  });
}

std::vector<std::string> waiting_for_restart(const Settings& running, const Settings& loaded) {
  std::vector<std::string> names;
  for (const Field<BridgeSettings>& field : bridge_fields()) {
    if (field.takes_effect != TakesEffect::restart) continue;
    if (!field.same(running.bridge, loaded.bridge))
      names.push_back("bridge." + std::string(field.name));
  }
  return names;
}

}  // namespace config
