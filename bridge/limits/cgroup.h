// One cgroup, in every tree that has one of its controllers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "limits/cgroup_files.h"

namespace limits {

// Where a cgroup stands in one tree.
struct Branch {
  Version version = Version::v1;
  std::vector<Controller> controllers;
  std::string folder;
};

// A value: destroying it leaves the kernel's cgroup as it is. Whoever has it made removes it.
class Cgroup {
 public:
  explicit Cgroup(std::vector<Branch> branches);

  // The cgroup of that name below this one.
  Cgroup below(std::string_view name) const;

  // Makes what is not there, with the limits that it was last held to.
  base::Status make();

  // Holds all of it to these from here on. What the kernel refuses is given back, a sentence each.
  std::vector<std::string> hold(const config::CgroupLimits& limits);
  const config::CgroupLimits& held() const { return held_; }

  // Removes it; false: something lives in it or below it, or it may not.
  bool remove() const;

  // The names of the cgroups directly below.
  std::vector<std::string> names_below() const;

  // What can be read of it; 0 for the rest.
  Figures figures() const;

  // A process is in it once it has written "0" to each of these files, in the trees of v1; and in
  // that of v2, if it has one, when it was made in this folder's cgroup (clone3(2)), or has written
  // "0" to that file.
  const std::vector<std::string>& tasks_files() const { return tasks_files_; }
  const std::string& unified() const { return unified_; }
  const std::string& unified_procs() const { return unified_procs_; }
  const std::vector<Branch>& branches() const { return branches_; }

 private:
  std::vector<Branch> branches_;
  std::vector<std::string> tasks_files_;
  std::string unified_, unified_procs_;
  config::CgroupLimits held_;
};

// The whole of a small file; empty if it cannot be read.
std::string read_small_file(const std::string& path);
// In one write, as the kernel's files want it.
base::Status write_small_file(const std::string& path, std::string_view text);

}  // namespace limits
