// The content of a cgroup's files: the limits that are written, the figures that are read. Pure;
// kernel documentation: admin-guide/cgroup-v1/, admin-guide/cgroup-v2.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "limits/hierarchies.h"

namespace limits {

// A file in a cgroup's folder, and what is written to it.
struct FileText {
  std::string_view file;
  std::string text;
  bool needed = true;  // false: a kernel may lack the file, which is not worth a message

  bool operator==(const FileText&) const = default;
};

// In the order in which they are to be written; they replace any earlier limits.
std::vector<FileText> texts_of(Version version, Controller controller,
                               const config::CgroupLimits& limits);

// Those of the settings cpu, cpu_weight, memory and processes that set a limit which this
// controller enforces.
std::vector<std::string_view> asked_of(Controller controller, const config::CgroupLimits& limits);

// Limits own, as a cgroup can have them below a cgroup with the limits above: v1 refuses a CPU
// ceiling higher than its parent's.
config::CgroupLimits within(config::CgroupLimits own, const config::CgroupLimits& above);

// What the processes of a cgroup, and of the cgroups below it, have used.
struct Figures {
  std::uint64_t cpu_us = 0;         // since the cgroup was made
  std::uint64_t throttled_us = 0;   // time that a ceiling made it wait, summed over its CPUs
  std::uint64_t memory = 0;         // now, including files in the page cache
  std::uint64_t memory_peak = 0;    // 0: not known (v2 before Linux 5.19)
  std::uint64_t processes = 0;      // now, including threads
  std::uint64_t oom_kills = 0;      // processes that the kernel killed because of the memory limit
  std::uint64_t forks_refused = 0;  // because of the limit on processes

  bool operator==(const Figures&) const = default;
};

using Figure = std::uint64_t Figures::*;

// A file that contains a figure. key: the word before it on its line; empty: the figure stands
// alone.
struct FigureSource {
  Version version;
  Controller controller;
  std::string_view file;
  std::string_view key;
  Figure figure;
  std::uint64_t divisor;  // v1 counts time in nanoseconds
};

const std::vector<FigureSource>& figure_sources();

// The number after key, or alone, in a file's text.
std::optional<std::uint64_t> number_in(std::string_view text, std::string_view key);

}  // namespace limits
