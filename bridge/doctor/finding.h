// What the doctor found.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/observations.h"

namespace doctor {

enum class Area { kernel, bridge, socket, roots, request, programs };
inline constexpr std::array<std::string_view, 6> kAreaNames = {"kernel", "bridge",  "socket",
                                                               "roots",  "request", "programs"};
// ok: as it should be. note: it works, and could be better, or could not be seen. wrong: requests
// fail because of it.
enum class Mark { ok, note, wrong };
inline constexpr std::array<std::string_view, 3> kMarkNames = {"ok", "note", "wrong"};

struct Finding {
  Area area = Area::kernel;
  Mark mark = Mark::ok;
  std::string what;  // one sentence; may quote strangers, so it is not for a terminal as it is
  std::string to_do = {};  // what helps; empty: nothing has to be done
};

using Findings = std::vector<Finding>;

// Pure: by area, and in each in the order in which they are to be read.
Findings diagnose(const Observations& seen);

// 1 if anything is wrong, otherwise 0.
int exit_code(const Findings& findings);
// The exit code if nothing could be looked at.
constexpr int kNotLooked = 2;

nlohmann::json findings_json(const Findings& findings);

}  // namespace doctor
