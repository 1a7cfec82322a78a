#include "admin/worker_memory.h"

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace admin {
namespace {

std::optional<std::uint64_t> pss_kib(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pss:")) return std::strtoull(line.c_str() + 4, nullptr, 10);
  }
  return std::nullopt;
}

nlohmann::json memory_of(const nlohmann::json& program) {
  nlohmann::json memory = {{"pss_kib", nullptr}, {"workers_kib", nlohmann::json::object()}};
  std::optional<std::uint64_t> all;
  if (const auto zygote = pss_kib(program["zygote_pid"].get<pid_t>())) {
    memory["zygote_kib"] = *zygote;
    all = *zygote;
  }
  for (const auto& pid : program["worker_pids"]) {
    const auto worker = pss_kib(pid.get<pid_t>());
    if (!worker) continue;
    memory["workers_kib"][std::to_string(pid.get<pid_t>())] = *worker;
    all = all.value_or(0) + *worker;
  }
  if (all) memory["pss_kib"] = *all;
  return memory;
}

}  // namespace

void add_memory(nlohmann::json& status) {
  for (auto& program : status["programs"]) program["memory"] = memory_of(program);
}

}  // namespace admin
