// What stands in the files of a cgroup: the limits that are written, the figures that are read.
// Pure; kernel documentation: admin-guide/cgroup-v1/, admin-guide/cgroup-v2.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "limits/hierarchies.h"

namespace limits {

// A file below a cgroup's folder, and what is written to it.
struct FileText {
  std::string_view file;
  std::string text;
  bool needed = true;  // false: a kernel may lack the file, and nothing is to be said about it

  bool operator==(const FileText&) const = default;
};

// In the order in which they are written; whatever stood there before.
std::vector<FileText> texts_of(Version version, Controller controller,
                               const config::CgroupLimits& limits);

// The names of the settings among cpu, cpu_weight, memory and processes that ask for something, and
// that this controller holds.
std::vector<std::string_view> asked_of(Controller controller, const config::CgroupLimits& limits);

// own as a cgroup can have it below one with the limits above: v1 refuses a CPU ceiling that is
// higher than the one above it.
config::CgroupLimits within(config::CgroupLimits own, const config::CgroupLimits& above);

// What the processes of a cgroup, and of those below it, have used.
struct Figures {
  std::uint64_t cpu_us = 0;         // since it was made
  std::uint64_t throttled_us = 0;   // in which a ceiling made it wait, summed over its CPUs
  std::uint64_t memory = 0;         // now, files in the page cache included
  std::uint64_t memory_peak = 0;    // 0: not known (v2 before Linux 5.19)
  std::uint64_t processes = 0;      // now, threads included
  std::uint64_t oom_kills = 0;      // processes that the kernel killed for the memory limit
  std::uint64_t forks_refused = 0;  // for the limit of processes

  bool operator==(const Figures&) const = default;
};

using Figure = std::uint64_t Figures::*;

// A file that holds a figure. key: in front of it on its line; empty: it stands alone.
struct FigureSource {
  Version version;
  Controller controller;
  std::string_view file;
  std::string_view key;
  Figure figure;
  std::uint64_t divisor;  // v1 counts time in nanoseconds
};

const std::vector<FigureSource>& figure_sources();

// The number that stands behind key, or alone, in a file's text.
std::optional<std::uint64_t> number_in(std::string_view text, std::string_view key);

}  // namespace limits
