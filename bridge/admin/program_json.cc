#include "admin/program_json.h"

#include <array>

#include "admin/figures.h"

namespace admin {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kTrackingNames = {"none", "compare", "scan",
                                                            "soft-dirty"};
static_assert(kTrackingNames.size() == TRACKING_SOFT_DIRTY + 1);

json percentiles_json(const policy::Percentiles& percentiles) {
  return {{"p50", percentiles.p50}, {"p99", percentiles.p99}};
}

json rewind_json(const policy::RewindRecord& rewinds) {
  return {{"tracking", kTrackingNames[rewinds.tracking()]},
          {"pages", percentiles_json(rewinds.pages())},
          {"microseconds", percentiles_json(rewinds.microseconds())}};
}

json retired_json(const policy::Retirements& retirements) {
  json retired = json::object();
  for (std::uint32_t reason = 1; reason < policy::kRetirementKinds; ++reason) {
    if (retirements.counted(reason) == 0) continue;
    retired[std::string(policy::retirement_name(reason))] = retirements.counted(reason);
  }
  return retired;
}

json warm_json(const pool::WarmShare& share) {
  json cold = json::object();
  for (std::size_t kind = 1; kind < pool::kColdKinds; ++kind) {
    const auto reason = static_cast<pool::Cold>(kind);
    if (reason == pool::Cold::chosen || share.counted(reason) == 0) continue;
    cold[std::string(pool::to_string(reason))] = share.counted(reason);
  }
  return {{"requests", share.warm()},
          {"of", share.all()},
          {"not", std::move(cold)},
          {"executed", share.executed()},
          {"told", share.describe()}};
}

json workers_json(const std::vector<pool::WorkerStatus>& workers) {
  json list = json::array();
  for (const pool::WorkerStatus& worker : workers) {
    list.push_back({{"pid", worker.pid},
                    {"state", worker.state},
                    {"arm", compare::to_string(worker.arm)},
                    {"served", worker.served},
                    {"in_state_ms", worker.in_state.count()}});
  }
  return list;
}

// "classic", or the mode with the reset of its persistent side: "split/rewind".
std::string arm_text(config::Mode mode, config::Reset reset) {
  std::string text(config::to_string(mode));
  return mode == config::Mode::classic ? text : text + "/" + std::string(config::to_string(reset));
}

}  // namespace

json cgroup_json(const limits::Figures& figures) {
  return {{"cpu_us", figures.cpu_us},
          {"throttled_us", figures.throttled_us},
          {"memory_bytes", figures.memory},
          {"memory_peak_bytes", figures.memory_peak},
          {"processes", figures.processes},
          {"oom_kills", figures.oom_kills},
          {"forks_refused", figures.forks_refused}};
}

json program_json(const pool::PoolStatus& program, const config::ProgramSettings& settings,
                  config::Mode effective) {
  json status = {
      {"path", program.program},
      {"name", program.name},
      {"mode", config::to_string(settings.mode)},
      {"sides",
       {{"effective", config::to_string(effective)},
        {"split", {{"persistent", settings.split.persistent}, {"sticky", settings.split.sticky}}}}},
      {"reset", config::to_string(program.reset)},
      {"reset_asked", config::to_string(program.reset_asked)},
      {"reset_reason", program.reset_reason},
      {"arm", arm_text(effective, program.reset)},
      {"level", program.level},
      {"level_reason", program.level_reason},
      {"failed_steps", program.failed_steps},
      {"user", settings.user},
      {"sandbox", program.sandbox},
      {"generation", program.generation},
      {"newest_generation", program.newest_generation},
      {"workers_list", workers_json(program.worker_list)},
      {"rewind", rewind_json(*program.rewinds)},
      {"retired", retired_json(*program.retirements)},
      {"misfits", {{"variable", program.misfit_name}}},
      {"warm", warm_json(program.warm)},
      {"zygote_pid", program.zygote_pid > 0 ? json(program.zygote_pid) : json(nullptr)},
      {"worker_pids", program.worker_pids},
      {"learned", program.learned},
      {"waits_for_place", program.waits_for_place},
      {"retry_in_ms", program.retry_in ? json(program.retry_in->count()) : json(nullptr)}};
  add_figures(status, program_figures(), program);
  return status;
}

}  // namespace admin
