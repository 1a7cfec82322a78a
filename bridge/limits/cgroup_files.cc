#include "limits/cgroup_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace limits {
namespace {

// The kernel's own default; in each period, a ceiling is counted from zero.
constexpr std::uint64_t kPeriodUs = 100'000;

// In microseconds per kPeriodUs; cpu is in per cent of one core.
std::uint64_t quota_us(double cpu) {
  return static_cast<std::uint64_t>(std::llround(cpu * double(kPeriodUs) / 100));
}

// As systemd turns CPUWeight= into CPUShares=: 100 corresponds to the kernel's default of 1024.
std::uint64_t shares_of(unsigned weight) {
  return std::clamp<std::uint64_t>(std::uint64_t(weight) * 1024 / 100, 2, 262'144);
}

std::vector<FileText> cpu_texts(Version version, const config::CgroupLimits& limits) {
  const std::string quota = std::to_string(quota_us(limits.cpu));
  if (version == Version::v1) {
    return {{"cpu.shares", std::to_string(shares_of(limits.cpu_weight))},
            {"cpu.cfs_quota_us", limits.cpu > 0 ? quota : "-1"}};
  }
  const std::string period = std::to_string(kPeriodUs);
  return {{"cpu.weight", std::to_string(limits.cpu_weight)},
          {"cpu.max", (limits.cpu > 0 ? quota : "max") + " " + period}};
}

// Limits memory and swap together: what exceeds the limit is to be killed, not to be slow. v1's
// second limit may not be below the first, whichever way both change.
std::vector<FileText> memory_texts(Version version, const config::CgroupLimits& limits) {
  const std::string bytes = std::to_string(limits.memory);
  const bool limited = limits.memory > 0;
  if (version == Version::v2) {
    return {{"memory.max", limited ? bytes : "max"},
            {"memory.swap.max", limited ? "0" : "max", false}};
  }
  return {{"memory.memsw.limit_in_bytes", "-1", false},
          {"memory.limit_in_bytes", limited ? bytes : "-1"},
          {"memory.memsw.limit_in_bytes", limited ? bytes : "-1", false}};
}

}  // namespace

std::vector<FileText> texts_of(Version version, Controller controller,
                               const config::CgroupLimits& limits) {
  switch (controller) {
    case Controller::cpu:
      return cpu_texts(version, limits);
    case Controller::memory:
      return memory_texts(version, limits);
    case Controller::pids:
      return {{"pids.max", limits.processes > 0 ? std::to_string(limits.processes) : "max"}};
    case Controller::cpuacct:
      break;
  }
  return {};
}

std::vector<std::string_view> asked_of(Controller controller, const config::CgroupLimits& limits) {
  const config::CgroupLimits nothing;
  std::vector<std::string_view> asked;
  if (controller == Controller::cpu) {
    if (limits.cpu != nothing.cpu) asked.push_back("cpu");
    if (limits.cpu_weight != nothing.cpu_weight) asked.push_back("cpu_weight");
  }
  if (controller == Controller::memory && limits.memory > 0) asked.push_back("memory");
  if (controller == Controller::pids && limits.processes > 0) asked.push_back("processes");
  return asked;
}

config::CgroupLimits within(config::CgroupLimits own, const config::CgroupLimits& above) {
  if (own.cpu > 0 && above.cpu > 0) own.cpu = std::min(own.cpu, above.cpu);
  return own;
}

const std::vector<FigureSource>& figure_sources() {
  using enum Controller;
  constexpr Version v1 = Version::v1, v2 = Version::v2;
  static const std::vector<FigureSource> sources = {
      {v1, cpuacct, "cpuacct.usage", "", &Figures::cpu_us, 1000},
      {v1, cpu, "cpu.stat", "throttled_time", &Figures::throttled_us, 1000},
      {v1, memory, "memory.usage_in_bytes", "", &Figures::memory, 1},
      {v1, memory, "memory.max_usage_in_bytes", "", &Figures::memory_peak, 1},
      {v1, memory, "memory.oom_control", "oom_kill", &Figures::oom_kills, 1},
      {v1, pids, "pids.current", "", &Figures::processes, 1},
      {v1, pids, "pids.events", "max", &Figures::forks_refused, 1},
      {v2, cpu, "cpu.stat", "usage_usec", &Figures::cpu_us, 1},
      {v2, cpu, "cpu.stat", "throttled_usec", &Figures::throttled_us, 1},
      {v2, memory, "memory.current", "", &Figures::memory, 1},
      {v2, memory, "memory.peak", "", &Figures::memory_peak, 1},
      {v2, memory, "memory.events", "oom_kill", &Figures::oom_kills, 1},
      {v2, pids, "pids.current", "", &Figures::processes, 1},
      {v2, pids, "pids.events", "max", &Figures::forks_refused, 1}};
  return sources;
}

std::optional<std::uint64_t> number_in(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!key.empty()) {
      if (!line.starts_with(key) || !line.substr(key.size()).starts_with(' ')) continue;
      line.remove_prefix(key.size() + 1);
    }
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc() || end != line.data() + line.size()) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

}  // namespace limits
