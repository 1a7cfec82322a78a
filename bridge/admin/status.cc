#include "admin/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

namespace admin {
namespace {

constexpr std::array<std::string_view, 4> kTrackingNames = {"none", "compare", "scan",
                                                            "soft-dirty"};
static_assert(kTrackingNames.size() == TRACKING_SOFT_DIRTY + 1);

nlohmann::json percentiles_json(const pool::Percentiles& percentiles) {
  return {{"p50", percentiles.p50}, {"p99", percentiles.p99}};
}

nlohmann::json rewind_json(const pool::RewindRecord& rewinds) {
  return {{"rewinds", rewinds.rewinds()},
          {"tracking", kTrackingNames[rewinds.tracking()]},
          {"pages", percentiles_json(rewinds.pages())},
          {"microseconds", percentiles_json(rewinds.microseconds())},
          {"verified", rewinds.verified()},
          {"differences", rewinds.differences()}};
}

nlohmann::json retired_json(const pool::Retirements& retirements) {
  nlohmann::json retired = nlohmann::json::object();
  for (std::uint32_t reason = 1; reason < pool::kRetirementKinds; ++reason) {
    if (retirements.counted(reason) == 0) continue;
    retired[std::string(pool::retirement_name(reason))] = retirements.counted(reason);
  }
  return retired;
}

nlohmann::json program_json(const pool::PoolStatus& program) {
  return {{"path", program.program},
          {"name", program.name},
          {"mode", config::to_string(program.mode)},
          {"reset", config::to_string(program.reset)},
          {"reset_asked", config::to_string(program.reset_asked)},
          {"reset_reason", program.reset_reason},
          {"arm", program.mode == config::Mode::classic
                      ? std::string("classic")
                      : "persistent/" + std::string(config::to_string(program.reset))},
          {"level", program.level},
          {"level_reason", program.level_reason},
          {"generation", program.generation},
          {"workers",
           {{"idle", program.idle},
            {"busy", program.busy},
            {"starting", program.starting},
            {"checking", program.returning}}},
          {"rewind", rewind_json(*program.rewinds)},
          {"retired", retired_json(*program.retirements)},
          {"given_back", program.given_back},
          {"queue", program.waiting},
          {"zygote_pid", program.zygote_pid},
          {"worker_pids", program.worker_pids},
          {"learned", program.learned},
          {"requests", program.requests},
          {"requests_classic", program.classic},
          {"requests_persistent", program.persistent},
          {"refused", program.refused},
          {"errors", program.failed}};
}

std::string retired_text(const nlohmann::json& retired) {
  std::string text;
  for (const auto& [reason, count] : retired.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "    retired: " : ", ", reason,
                        count.get<std::uint64_t>());
  }
  return text.empty() ? text : text + "\n";
}

std::string rewind_text(const nlohmann::json& rewind) {
  if (rewind["rewinds"].get<std::uint64_t>() == 0) return {};
  const auto figure = [&rewind](const char* name, const char* percentile) {
    return rewind[name][percentile].get<std::uint32_t>();
  };
  return fmt::format(
      "    {} rewind(s) ({}): {} page(s) in {} us, 99 of 100 below {} and {} us; verified {}, "
      "different {}\n",
      rewind["rewinds"].get<std::uint64_t>(), rewind["tracking"].get<std::string>(),
      figure("pages", "p50"), figure("microseconds", "p50"), figure("pages", "p99"),
      figure("microseconds", "p99"), rewind["verified"].get<std::uint64_t>(),
      rewind["differences"].get<std::uint64_t>());
}

std::string memory_text(const nlohmann::json& program) {
  if (!program.contains("memory") || program["memory"]["pss_kib"].is_null()) return {};
  const auto& memory = program["memory"];
  std::string text =
      fmt::format("    memory (PSS): {} KiB", memory["pss_kib"].get<std::uint64_t>());
  if (memory.contains("zygote_kib")) {
    text += fmt::format("; zygote {} KiB", memory["zygote_kib"].get<std::uint64_t>());
  }
  for (const auto& [pid, kib] : memory["workers_kib"].items()) {
    text += fmt::format("; worker {} {} KiB", pid, kib.get<std::uint64_t>());
  }
  return text + "\n";
}

}  // namespace

nlohmann::json status_json(const gateway::Gateway& gateway, const pool::Pools& pools) {
  const gateway::Counts& counts = gateway.counts();
  nlohmann::json status;
  status["bridge"] = {{"pid", ::getpid()},
                      {"version", CGIBRIDGE_VERSION},
                      {"connections", gateway.connections()},
                      {"connections_total", counts.connections_total},
                      {"requests_active", counts.requests_active},
                      {"requests_total", counts.requests_total},
                      {"errors", counts.errors},
                      {"draining", gateway.draining()}};
  status["programs"] = nlohmann::json::array();
  for (const pool::PoolStatus& program : pools.status()) {
    status["programs"].push_back(program_json(program));
  }
  return status;
}

std::string status_table(const nlohmann::json& status) {
  const auto& bridge = status["bridge"];
  std::string table = fmt::format(
      "cgibridge {} pid {}: {} connection(s), {} request(s) now, {} in all, {} answered with an "
      "error of the bridge{}\n",
      bridge["version"].get<std::string>(), bridge["pid"].get<int>(),
      bridge["connections"].get<std::uint64_t>(), bridge["requests_active"].get<std::uint64_t>(),
      bridge["requests_total"].get<std::uint64_t>(), bridge["errors"].get<std::uint64_t>(),
      bridge["draining"].get<bool>() ? ", draining" : "");
  const char* row = "{:<40} {:<16} {:<9} {:>4} {:>5} {:>5} {:>6} {:>9} {:>7}\n";
  table += fmt::format(fmt::runtime(row), "program", "arm", "level", "gen", "idle", "busy", "queue",
                       "requests", "errors");
  for (const auto& program : status["programs"]) {
    const auto& workers = program["workers"];
    table += fmt::format(
        fmt::runtime(row), program["path"].get<std::string>(), program["arm"].get<std::string>(),
        program["level"].get<std::string>(), program["generation"].get<std::uint64_t>(),
        workers["idle"].get<unsigned>(), workers["busy"].get<unsigned>(),
        program["queue"].get<std::uint64_t>(), program["requests"].get<std::uint64_t>(),
        program["errors"].get<std::uint64_t>());
    const auto reason = program["level_reason"].get<std::string>();
    if (!reason.empty()) table += "    not deeper: " + reason + "\n";
    const auto reset_reason = program["reset_reason"].get<std::string>();
    if (!reset_reason.empty()) {
      table += fmt::format("    not reset = {}: {}\n", program["reset_asked"].get<std::string>(),
                           reset_reason);
    }
    table +=
        rewind_text(program["rewind"]) + retired_text(program["retired"]) + memory_text(program);
  }
  return table;
}

}  // namespace admin
