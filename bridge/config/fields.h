// The table of all settings: the one place where each appears. The parser, the checks, `config
// show` and the reference come from it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/kinds.h"
#include "config/settings.h"

namespace config {

// When a change of a setting in the file takes effect on a running bridge.
enum class TakesEffect {
  live,            // for the next request or connection
  new_generation,  // live, and the programs that it affects start new zygotes
  restart,
};

// One setting of a Section (BridgeSettings or ProgramSettings). Its default is what a
// default-constructed Section has there.
template <typename Section>
struct Field {
  std::string_view name;  // "workers.max": table inside the section, then key
  std::string type;       // this and the rest as in Kind
  std::string range;
  TakesEffect takes_effect;
  std::string_view doc;
  std::function<void(const toml::value&, Section& out, const Complain&)> read;
  std::function<std::string(const Section&)> print;
  std::function<bool(const Section&, const Section&)> same;
};

// Built at the first call, in the order in which they are shown.
const std::vector<Field<BridgeSettings>>& bridge_fields();
const std::vector<Field<ProgramSettings>>& defaults_fields();  // [defaults]
const std::vector<Field<ProgramSettings>>& program_fields();  // [[program]]: name, match, and those

}  // namespace config
