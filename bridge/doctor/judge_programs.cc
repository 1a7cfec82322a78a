// Which programs are not warm, what that costs, and why.
#include <fmt/format.h>

#include <algorithm>

#include "admin/status_table.h"
#include "doctor/judges.h"

namespace doctor {
namespace {

using nlohmann::json;

constexpr std::size_t kShown = 5;
// A program is fine if at least this share of its requests was warm: the first of each generation
// are not.
constexpr double kGoodShare = 0.9;
constexpr std::uint64_t kEnough = 10;

struct Cold {
  std::string path, level, mode;
  std::vector<std::string> reasons;
  std::uint64_t requests = 0;  // that were not warm
  std::uint64_t of = 0;
  double cost_s = 0;       // what these took, compared with warm ones
  bool by_choice = false;  // the settings say classic
  bool hindered = false;   // there is a reason; otherwise nobody has asked for a while
  bool demoted = false;    // to another reset than the settings say
};

double p50_us(const json& arms, const std::string& arm) {
  if (!arms.contains(arm)) return 0;
  return arms.at(arm).at("latency_us").at("p50").get<double>();
}

// The median of the best arm that is warm; 0: none has answered yet.
double warm_p50_us(const json& arms) {
  for (const char* arm : {"rewind", "fork", "none"}) {
    if (const double p50 = p50_us(arms, arm); p50 > 0) return p50;
  }
  return 0;
}

Cold cold_of(const json& program) {
  Cold cold;
  cold.path = program.at("path").get<std::string>();
  cold.level = program.at("level").get<std::string>();
  cold.mode = program.at("mode").get<std::string>();
  cold.reasons = admin::reasons_of(program);
  const json& sides = program.at("sides");
  cold.by_choice = sides.at("effective").get<std::string>() == "classic";
  cold.hindered =
      !program.at("level_reason").get<std::string>().empty() || !program.at("failed_steps").empty();
  cold.demoted = !program.at("reset_reason").get<std::string>().empty();
  const json& warm = program.at("warm");
  const json& arms = program.at("arms");
  cold.of = cold.by_choice ? program.at("requests").get<std::uint64_t>()
                           : warm.at("of").get<std::uint64_t>();
  cold.requests = cold.by_choice ? cold.of : cold.of - warm.at("requests").get<std::uint64_t>();
  cold.cost_s = static_cast<double>(cold.requests) *
                std::max(0.0, p50_us(arms, "classic") - warm_p50_us(arms)) / 1e6;
  return cold;
}

bool is_cold(const Cold& cold) {
  if (cold.by_choice) return cold.requests > 0;
  if ((cold.level == "none" && cold.hindered) || cold.demoted) return true;
  if (cold.level == "warming" || cold.of < kEnough) return false;  // too early to say
  return static_cast<double>(cold.of - cold.requests) < kGoodShare * static_cast<double>(cold.of);
}

Finding finding_of(const Cold& cold) {
  std::string what = cold.path;
  if (cold.by_choice) {
    what += fmt::format(" runs classic, because its mode is {}", cold.mode);
  } else if (cold.level == "none") {
    what += " is not warm";
  } else if (cold.demoted) {
    what += " is warm, but not as its settings say";
  } else {
    what += " is warm, and many of its requests are not";
  }
  what += fmt::format(" ({} of {} request(s)", cold.requests, cold.of);
  if (cold.cost_s >= 1) what += fmt::format(", about {:.0f} s lost", cold.cost_s);
  what += ")";
  for (const std::string& reason : cold.reasons) {
    what += (&reason == &cold.reasons.front() ? ": " : "; ") + reason;
  }
  return {Area::programs, Mark::note, what + ".",
          fmt::format("cgibridge check {}{}", cold.path,
                      cold.by_choice ? " says whether it can be warm" : "")};
}

}  // namespace

void judge_programs(const Observations& seen, Findings& findings) {
  if (!seen.bridge.status.is_object()) return;
  std::vector<Cold> cold;
  std::size_t all = 0, other_versions = 0;
  for (const json& program : seen.bridge.status.value("programs", json::array())) {
    ++all;
    try {
      if (Cold one = cold_of(program); is_cold(one)) cold.push_back(std::move(one));
    } catch (const json::exception&) {
      ++other_versions;
    }
  }
  if (other_versions > 0) {
    findings.push_back({Area::programs, Mark::note,
                        "The bridge that runs is another version and tells its programs in "
                        "another way.",
                        "cgibridge upgrade"});
    return;
  }
  std::ranges::stable_sort(cold, [](const Cold& one, const Cold& other) {
    return std::pair(one.cost_s, one.requests) > std::pair(other.cost_s, other.requests);
  });
  if (cold.empty()) {
    findings.push_back(
        {Area::programs, Mark::ok,
         all == 0 ? std::string("No program was asked for since the bridge began.")
                  : fmt::format("All {} program(s) that were asked for are warm, or about to be.",
                                all)});
  }
  for (std::size_t i = 0; i < std::min(cold.size(), kShown); ++i) {
    findings.push_back(finding_of(cold[i]));
  }
  if (cold.size() > kShown) {
    findings.push_back({Area::programs, Mark::note,
                        fmt::format("{} more program(s) are not warm.", cold.size() - kShown),
                        "cgibridge status"});
  }
}

}  // namespace doctor
