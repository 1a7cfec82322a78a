#include "admin/worker_memory.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/process_memory.h"

namespace admin {
namespace {

nlohmann::json memory_of(const nlohmann::json& program) {
  nlohmann::json memory = {{"pss_kib", nullptr}, {"workers_kib", nlohmann::json::object()}};
  std::optional<std::uint64_t> all;
  if (const auto& pid = program["zygote_pid"]; !pid.is_null()) {
    all = base::proportional_kib(pid.get<pid_t>());
    if (all) memory["zygote_kib"] = *all;
  }
  for (const auto& pid : program["worker_pids"]) {
    const auto worker = base::proportional_kib(pid.get<pid_t>());
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
