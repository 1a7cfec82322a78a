#include "admin/status_table.h"

#include <fmt/format.h>

#include <utility>

namespace admin {
namespace {

using nlohmann::json;

std::uint64_t number(const json& value) {
  return value.get<std::uint64_t>();
}
std::string text(const json& value) {
  return value.get<std::string>();
}

// "timeout 3, signal 1"
std::string counts_text(const json& counts) {
  std::string joined;
  for (const auto& [name, count] : counts.items()) {
    joined += fmt::format("{}{} {}", joined.empty() ? "" : ", ", name, number(count));
  }
  return joined;
}

// 830 us, 12.4 ms, 3.10 s: three digits tell all that a person compares.
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
  if (number(rewind["rewinds"]) == 0) return {};
  return fmt::format(
      "    {} rewind(s) ({}): {} page(s) in {} us, 99 of 100 below {} and {} us; verified {}, "
      "different {}\n",
      number(rewind["rewinds"]), text(rewind["tracking"]), number(rewind["pages"]["p50"]),
      number(rewind["microseconds"]["p50"]), number(rewind["pages"]["p99"]),
      number(rewind["microseconds"]["p99"]), number(rewind["verified"]),
      number(rewind["differences"]));
}

std::string memory_text(const json& program) {
  if (!program.contains("memory") || program["memory"]["pss_kib"].is_null()) return {};
  const json& memory = program["memory"];
  std::string line = fmt::format("    memory (PSS): {} KiB", number(memory["pss_kib"]));
  if (memory.contains("zygote_kib")) {
    line += fmt::format("; zygote {} KiB", number(memory["zygote_kib"]));
  }
  for (const auto& [pid, kib] : memory["workers_kib"].items()) {
    line += fmt::format("; worker {} {} KiB", pid, number(kib));
  }
  return line + "\n";
}

// How many times faster than classic an arm's median is; empty for classic, and without both.
std::string speed_text(const json& arms, const std::string& arm) {
  if (arm == "classic" || !arms.contains("classic")) return {};
  const double classic = arms["classic"]["latency_us"]["p50"].get<double>();
  const double own = arms[arm]["latency_us"]["p50"].get<double>();
  return own > 0 ? fmt::format("{:.1f} x", classic / own) : std::string();
}

std::string arms_text(const json& arms) {
  if (arms.empty()) return {};
  const char* row = "    {:<8} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>10} {:>8}\n";
  std::string lines = fmt::format(fmt::runtime(row), "arm", "requests", "errors", "p50", "p95",
                                  "p99", "cpu p50", "peak", "p50 gain");
  for (const auto& [name, arm] : arms.items()) {
    const json& latency = arm["latency_us"];
    lines += fmt::format(fmt::runtime(row), name, number(arm["requests"]), number(arm["errors"]),
                         time_text(latency["p50"]), time_text(latency["p95"]),
                         time_text(latency["p99"]), time_text(arm["cpu_us"]["p50"]),
                         size_text(arm["peak_kib"]), speed_text(arms, name));
    if (!arm["failures"].empty()) {
      lines += fmt::format("             {}: {}\n", name, counts_text(arm["failures"]));
    }
  }
  return lines;
}

std::string shadow_text(const json& program) {
  if (!program.contains("shadow")) return {};
  const json& shadow = program["shadow"];
  std::string lines = fmt::format("    shadow: {} compared: {} same, {} masked, {} different",
                                  number(shadow["compared"]), number(shadow["same"]),
                                  number(shadow["masked"]), number(shadow["different"]));
  const std::string skipped = counts_text(shadow["skipped"]);
  lines += skipped.empty() ? "\n" : "; skipped: " + skipped + "\n";
  if (shadow.contains("differences") && !shadow["differences"].empty()) {
    const json& last = shadow["differences"].back();
    lines += fmt::format("      last: {} of {} {} at {} ({}); the diff: status --json\n",
                         text(last["what"]), text(last["method"]), text(last["uri"]),
                         text(last["at"]), text(last["arm"]));
  }
  return lines;
}

std::string promotion_text(const json& program) {
  if (!program.contains("promotion")) return {};
  const json& promotion = program["promotion"];
  const std::string stage = text(promotion["stage"]), outlook = text(promotion["outlook"]);
  const bool told = promotion["held"].get<bool>() || outlook.starts_with(stage);
  return fmt::format("    promotion: {}{}\n", told ? "" : "stage " + stage + ": ", outlook);
}

std::string reasons_text(const json& program) {
  std::string lines;
  if (const std::string reason = text(program["level_reason"]); !reason.empty()) {
    lines += "    not deeper: " + reason + "\n";
  }
  if (const json& learned = program["learned"]; !learned.empty()) {
    lines += "    learned: preload = " + learned.dump() + "\n";
  }
  for (const json& step : program["failed_steps"]) lines += "    failed: " + text(step) + "\n";
  if (const std::string reason = text(program["reset_reason"]); !reason.empty()) {
    lines += fmt::format("    not reset = {}: {}\n", text(program["reset_asked"]), reason);
  }
  return lines;
}

std::string bridge_text(const json& bridge) {
  return fmt::format(
      "cgibridge {} pid {}: {} connection(s), {} request(s) now, {} in all, {} answered with an "
      "error of the bridge{}\n",
      text(bridge["version"]), bridge["pid"].get<int>(), number(bridge["connections"]),
      number(bridge["requests_active"]), number(bridge["requests_total"]), number(bridge["errors"]),
      bridge["draining"].get<bool>() ? ", draining" : "");
}

}  // namespace

std::string status_table(const json& status) {
  std::string table = bridge_text(status["bridge"]);
  const char* row = "{:<40} {:<17} {:<9} {:>4} {:>5} {:>5} {:>6} {:>9} {:>7}\n";
  table += fmt::format(fmt::runtime(row), "program", "arm", "level", "gen", "idle", "busy", "queue",
                       "requests", "errors");
  for (const json& program : status["programs"]) {
    const json& workers = program["workers"];
    std::string path = text(program["path"]);
    // A long one gets a line of its own, so that the columns stay where they are.
    if (path.size() > 40) table += std::exchange(path, {}) + "\n";
    table += fmt::format(fmt::runtime(row), path, text(program["arm"]), text(program["level"]),
                         number(program["generation"]), number(workers["idle"]),
                         number(workers["busy"]), number(program["queue"]),
                         number(program["requests"]), number(program["errors"]));
    table += reasons_text(program) + arms_text(program["arms"]) + shadow_text(program) +
             promotion_text(program) + rewind_text(program["rewind"]) +
             retired_text(program["retired"]) + memory_text(program);
  }
  return table;
}

}  // namespace admin
