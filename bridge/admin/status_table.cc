#include "admin/status_table.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"

namespace admin {
namespace {

using nlohmann::json;

std::uint64_t number(const json& value) {
  return value.get<std::uint64_t>();
}
// What visitors, programs and paths say must not steer the operator's terminal, nor begin a line.
std::string shown(const std::string& said) {
  return base::printable(said, said.npos);
}
std::string text(const json& value) {
  return shown(value.get<std::string>());
}

// "timeout 3, signal 1"
std::string counts_text(const json& counts) {
  std::string joined;
  for (const auto& [name, count] : counts.items()) {
    joined += fmt::format("{}{} {}", joined.empty() ? "" : ", ", shown(name), number(count));
  }
  return joined;
}

// 830 us, 12.4 ms, 3.10 s: three digits are all that a person compares.
std::string time_text(const json& microseconds) {
  const double us = microseconds.get<double>();
  if (us < 1000) return fmt::format("{:.0f} us", us);
  if (us < 1e6) return fmt::format("{:.{}f} ms", us / 1e3, us < 1e5 ? 1 : 0);
  return fmt::format("{:.2f} s", us / 1e6);
}

std::string size_text(const json& kib) {
  const double value = kib.get<double>();
  if (value <= 0) return "-";
  return value < 1024 ? fmt::format("{:.0f} KiB", value) : fmt::format("{:.1f} MiB", value / 1024);
}

std::string retired_text(const json& retired) {
  return retired.empty() ? std::string() : "    retired: " + counts_text(retired) + "\n";
}

std::string rewind_text(const json& rewind) {
  if (number(rewind.at("rewinds")) == 0) return {};
  return fmt::format(
      "    {} rewind(s) ({}): {} page(s) in {} us, 99 of 100 below {} and {} us; verified {}, "
      "different {}\n",
      number(rewind.at("rewinds")), text(rewind.at("tracking")),
      number(rewind.at("pages").at("p50")), number(rewind.at("microseconds").at("p50")),
      number(rewind.at("pages").at("p99")), number(rewind.at("microseconds").at("p99")),
      number(rewind.at("verified")), number(rewind.at("differences")));
}

std::string memory_text(const json& program) {
  if (!program.contains("memory") || program.at("memory").at("pss_kib").is_null()) return {};
  const json& memory = program.at("memory");
  std::string line = fmt::format("    memory (PSS): {} KiB", number(memory.at("pss_kib")));
  if (memory.contains("zygote_kib")) {
    line += fmt::format("; zygote {} KiB", number(memory.at("zygote_kib")));
  }
  for (const auto& [pid, kib] : memory.at("workers_kib").items()) {
    line += fmt::format("; worker {} {} KiB", shown(pid), number(kib));
  }
  return line + "\n";
}

// How many times faster an arm's median is than classic's; empty for classic itself, or if either
// is missing.
std::string speed_text(const json& arms, const std::string& arm) {
  if (arm == "classic" || !arms.contains("classic")) return {};
  const double classic = arms.at("classic").at("latency_us").at("p50").get<double>();
  const double own = arms[arm].at("latency_us").at("p50").get<double>();
  return own > 0 ? fmt::format("{:.1f} x", classic / own) : std::string();
}

std::string arms_text(const json& arms) {
  if (arms.empty()) return {};
  const char* row = "    {:<8} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>10} {:>8}\n";
  std::string lines = fmt::format(fmt::runtime(row), "arm", "requests", "errors", "p50", "p95",
                                  "p99", "cpu p50", "peak", "p50 gain");
  for (const auto& [name, arm] : arms.items()) {
    const json& latency = arm.at("latency_us");
    lines += fmt::format(fmt::runtime(row), shown(name), number(arm.at("requests")),
                         number(arm.at("errors")), time_text(latency.at("p50")),
                         time_text(latency.at("p95")), time_text(latency.at("p99")),
                         time_text(arm.at("cpu_us").at("p50")), size_text(arm.at("peak_kib")),
                         speed_text(arms, name));
    if (!arm.at("failures").empty()) {
      lines += fmt::format("             {}: {}\n", shown(name), counts_text(arm.at("failures")));
    }
  }
  return lines;
}

std::string shadow_text(const json& program) {
  if (!program.contains("shadow")) return {};
  const json& shadow = program.at("shadow");
  std::string lines = fmt::format("    shadow: {} compared: {} same, {} masked, {} different",
                                  number(shadow.at("compared")), number(shadow.at("same")),
                                  number(shadow.at("masked")), number(shadow.at("different")));
  const std::string skipped = counts_text(shadow.at("skipped"));
  lines += skipped.empty() ? "\n" : "; skipped: " + skipped + "\n";
  if (shadow.contains("differences") && !shadow.at("differences").empty()) {
    const json& last = shadow.at("differences").back();
    lines += fmt::format("      last: {} of {} {} at {} ({}); the diff: status --json\n",
                         text(last.at("what")), text(last.at("method")), text(last.at("uri")),
                         text(last.at("at")), text(last.at("arm")));
  }
  return lines;
}

std::string promotion_text(const json& program) {
  if (!program.contains("promotion")) return {};
  const json& promotion = program.at("promotion");
  const std::string stage = text(promotion.at("stage")), outlook = text(promotion.at("outlook"));
  const bool told = promotion.at("held").get<bool>() || outlook.starts_with(stage);
  return fmt::format("    promotion: {}{}\n", told ? "" : "stage " + stage + ": ", outlook);
}

std::string reasons_text(const json& program) {
  std::string lines;
  if (const std::string user = program.value("user", ""); !user.empty()) {
    lines += "    user: " + shown(user) + "\n";
  }
  if (const std::string sandbox = program.value("sandbox", ""); !sandbox.empty()) {
    lines += "    sandbox: " + shown(sandbox) + "\n";
  }
  for (const std::string& reason : reasons_of(program)) lines += "    " + reason + "\n";
  if (const json& learned = program.at("learned"); !learned.empty()) {
    lines += "    learned: preload = " +
             shown(learned.dump(-1, ' ', false, json::error_handler_t::replace)) + "\n";
  }
  return lines;
}

// "    cgroup: cpu 3.10 s, waited for its limit 1.20 s, 34.1 MiB, 7 process(es), ..."
std::string cgroup_text(const json& cgroup, const std::string& name) {
  if (!cgroup.contains("cpu_us")) return {};
  std::string line = fmt::format(
      "{}: cpu {}, waited for its limit {}, memory {}, processes {}", name,
      time_text(cgroup.at("cpu_us")), time_text(cgroup.at("throttled_us")),
      size_text(json(number(cgroup.at("memory_bytes")) / 1024)), number(cgroup.at("processes")));
  if (const auto kills = number(cgroup.at("oom_kills")); kills > 0) {
    line += fmt::format(", killed for memory {}", kills);
  }
  if (const auto refused = number(cgroup.at("forks_refused")); refused > 0) {
    line += fmt::format(", forks refused {}", refused);
  }
  return line + "\n";
}

std::string not_held_text(const json& cgroups) {
  std::string lines;
  for (const json& one : cgroups.at("not_held")) lines += "not held: " + text(one) + "\n";
  return lines;
}

std::string bridge_text(const json& bridge) {
  return fmt::format(
      "cgibridge {} pid {}: {} connection(s), {} request(s) now, {} in all, {} answered with an "
      "error of the bridge; {} of {} worker(s) busy{}\n",
      text(bridge.at("version")), bridge.at("pid").get<int>(), number(bridge.at("connections")),
      number(bridge.at("requests_active")), number(bridge.at("requests_total")),
      number(bridge.at("errors")), number(bridge.at("workers_running")),
      number(bridge.at("workers")), bridge.at("draining").get<bool>() ? ", draining" : "");
}

}  // namespace

std::vector<std::string> reasons_of(const json& program) {
  std::vector<std::string> reasons;
  if (const std::string reason = text(program.at("level_reason")); !reason.empty()) {
    reasons.push_back("not deeper: " + reason);
  }
  if (const json& retry = program.at("retry_in_ms"); !retry.is_null()) {
    reasons.push_back(fmt::format("tried again in {} s, or when it changes", number(retry) / 1000));
  }
  if (const std::string warm = text(program.at("warm").at("told")); !warm.empty()) {
    reasons.push_back("really warm: " + warm);
  }
  if (const json& misfits = program.at("misfits"); number(misfits.at("count")) > 0) {
    reasons.push_back(fmt::format("ran classic, as their {} is not what the zygote read: {}",
                                  text(misfits.at("variable")), number(misfits.at("count"))));
  }
  for (const json& step : program.at("failed_steps")) reasons.push_back("failed: " + text(step));
  if (const std::string reason = text(program.at("reset_reason")); !reason.empty()) {
    reasons.push_back(fmt::format("not reset = {}: {}", text(program.at("reset_asked")), reason));
  }
  return reasons;
}

std::string status_table(const json& status) {
  const json& bridge = status.at("bridge");
  std::string table = bridge_text(bridge) + cgroup_text(bridge.at("cgroups"), "all programs") +
                      not_held_text(bridge.at("cgroups"));
  const char* row = "{:<40} {:<17} {:<9} {:>4} {:>5} {:>5} {:>6} {:>9} {:>7}\n";
  table += fmt::format(fmt::runtime(row), "program", "arm", "level", "gen", "idle", "busy", "queue",
                       "requests", "errors");
  for (const json& program : status.at("programs")) {
    const json& workers = program.at("workers");
    std::string path = text(program.at("path"));
    // A long path gets a separate line, so that the columns stay aligned.
    if (path.size() > 40) table += std::exchange(path, {}) + "\n";
    table += fmt::format(
        fmt::runtime(row), path, text(program.at("arm")), text(program.at("level")),
        number(program.at("generation")), number(workers.at("idle")), number(workers.at("busy")),
        number(program.at("queue")), number(program.at("requests")), number(program.at("errors")));
    table += reasons_text(program) + arms_text(program.at("arms")) + shadow_text(program) +
             promotion_text(program) + rewind_text(program.at("rewind")) +
             retired_text(program.at("retired")) + memory_text(program);
    if (program.contains("cgroup")) table += cgroup_text(program.at("cgroup"), "    cgroup");
  }
  return table;
}

}  // namespace admin
