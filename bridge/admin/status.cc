#include "admin/status.h"

#include <fmt/format.h>
#include <unistd.h>

namespace admin {
namespace {

nlohmann::json program_json(const pool::PoolStatus& program) {
  return {
      {"path", program.program},
      {"name", program.name},
      {"mode", config::to_string(program.mode)},
      {"reset", config::to_string(program.reset)},
      {"arm", program.mode == config::Mode::classic
                  ? std::string("classic")
                  : "persistent/" + std::string(config::to_string(program.reset))},
      {"level", program.level},
      {"level_reason", program.level_reason},
      {"generation", program.generation},
      {"workers", {{"idle", program.idle}, {"busy", program.busy}, {"starting", program.starting}}},
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
  }
  return table;
}

}  // namespace admin
