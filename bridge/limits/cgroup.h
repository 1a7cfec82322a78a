// One cgroup, in every tree that has one of its controllers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "limits/cgroup_files.h"

namespace limits {

// Where a cgroup is in one tree.
struct Branch {
  Version version = Version::v1;
  std::vector<Controller> controllers;
  std::string folder;
};

// A value: destroying it leaves the kernel's cgroup as it is. Whoever makes the kernel's cgroup
// removes it.
class Cgroup {
 public:
  explicit Cgroup(std::vector<Branch> branches);

  // The cgroup with that name below this one.
  Cgroup below(std::string_view name) const;

  // Makes what does not exist yet, with the limits that were last applied.
  base::Status make();

  // Applies these limits from now on. Returns what the kernel refused, one sentence each.
  std::vector<std::string> hold(const config::CgroupLimits& limits);
  const config::CgroupLimits& held() const { return held_; }

  // Removes it. False: something runs in it or below it, or the bridge may not remove it.
  bool remove() const;

  // The names of the cgroups directly below.
  std::vector<std::string> names_below() const;

  // The figures that can be read; 0 for the rest.
  Figures figures() const;

  // How a process enters it: by writing "0" to each of these files, in the trees of v1; in the tree
  // of v2, if the cgroup has a part there, by being created in this folder's cgroup (clone3(2)), or
  // by writing "0" to that file.
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

// The whole content of a small file; empty if it cannot be read.
std::string read_small_file(const std::string& path);
// Writes text in a single write(), as the kernel's files require.
base::Status write_small_file(const std::string& path, std::string_view text);

}  // namespace limits
