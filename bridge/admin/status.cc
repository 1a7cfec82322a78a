#include "admin/status.h"

#include <unistd.h>

#include <algorithm>

#include "admin/figures.h"
#include "admin/program_json.h"
#include "gateway/arm_choice.h"

namespace admin {
namespace {

using nlohmann::json;
using Programs = std::vector<pool::PoolStatus>;

// Which cgroups there are, and which limits are asked for but not enforced.
json cgroups_json(const limits::Cgroups& cgroups) {
  json all = {{"folders", cgroups.folders()}, {"not_held", cgroups.not_held()}};
  if (const auto figures = cgroups.figures_of_all()) all.update(cgroup_json(*figures));
  return all;
}

json bridge_json(const gateway::Gateway& gateway, const pool::Pools& pools) {
  json listening = json::array();
  for (const auto& [id, listener] : gateway.listeners()) listening.push_back(listener->name());
  json bridge = {{"pid", ::getpid()},
                 {"version", CGIBRIDGE_VERSION},
                 {"listening", std::move(listening)},
                 {"cgroups", cgroups_json(pools.cgroups())},
                 {"draining", gateway.draining()},
                 {"not_ready", gateway.why_not_ready()}};
  add_figures(bridge, bridge_figures(), {gateway, pools});
  return bridge;
}

void keep_wanted(Programs& programs, const StatusScope& scope) {
  if (!scope.program.empty()) {
    std::erase_if(programs, [&](const auto& status) { return status.program != scope.program; });
  }
  if (scope.most > 0 && programs.size() > scope.most) {
    const auto end = programs.begin() + static_cast<std::ptrdiff_t>(scope.most);
    std::partial_sort(programs.begin(), end, programs.end(),
                      [](const auto& a, const auto& b) { return a.requests > b.requests; });
    programs.erase(end, programs.end());
  }
  std::sort(programs.begin(), programs.end(),
            [](const auto& a, const auto& b) { return a.program < b.program; });
}

void add_comparison(json& program, const compare::Comparison& comparison, Detail detail,
                    base::TimePoint now) {
  program["arms"] = arms_json(comparison.arms, now);
  if (json shadow = shadow_json(comparison, detail, now); !shadow.is_null()) {
    program["shadow"] = std::move(shadow);
  }
  if (json promotion = promotion_json(comparison.promotion); !promotion.is_null()) {
    program["promotion"] = std::move(promotion);
  }
}

}  // namespace

json settings_json(const SettingsKeeper& settings) {
  return {{"file", settings.path()},
          {"refused", settings.refused()},
          {"waiting_for_restart", settings.waiting_for_restart()}};
}

json status_json(gateway::Gateway& gateway, const pool::Pools& pools, const StatusScope& scope) {
  const auto settings = gateway.settings();
  const compare::Comparisons& comparisons = gateway.comparisons();
  Programs programs = pools.status();
  json status = {{"bridge", bridge_json(gateway, pools)}, {"programs", json::array()}};
  keep_wanted(programs, scope);
  for (const pool::PoolStatus& program : programs) {
    const config::ProgramSettings& own = settings->for_program(program.home);
    const compare::Comparison* comparison = comparisons.find(program.program);
    const config::Mode effective =
        comparison == nullptr ? own.mode : gateway::effective_mode(own, comparison->promotion);
    json entry = program_json(program, own, effective);
    if (program.cgroup) entry["cgroup"] = cgroup_json(*program.cgroup);
    entry["arms"] = json::object();
    if (comparison != nullptr)
      add_comparison(entry, *comparison, scope.detail, gateway.loop().now());
    status["programs"].push_back(std::move(entry));
  }
  return status;
}

}  // namespace admin
