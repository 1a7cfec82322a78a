// The cgroups of a bridge: one for all CGI together, and below it one for each program.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "config/settings.h"
#include "limits/cgroup.h"

namespace limits {

// One per daemon; outlives the pools. A program whose settings ask for no limit, while none is
// asked for all programs together, stays in the bridge's own cgroup and costs nothing.
//
// If a limit asks for a controller that is not available, the log says so and why; limits of other
// controllers are enforced. A cgroup is removed when its program has been idle for its time, or at
// the end. What still runs in it then (a background child), or after the bridge was killed, is left
// in it, and the next bridge of the same name continues with it.
class Cgroups {
 public:
  // Uses no cgroups: for a bridge that runs for one command.
  Cgroups() = default;
  // name: of the cgroup for all programs; the same at each start of a bridge, and different from
  // every other bridge's. place: the cgroup below which it is made; empty: the one that this
  // process was started in.
  Cgroups(std::string name, std::string place);
  ~Cgroups();
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  // Applies these settings from now on, also to the cgroups that already exist.
  void apply(const config::Settings& settings);

  // Whether a program with these limits belongs in a cgroup of its own.
  bool wanted(const config::CgroupLimits& limits) const {
    return all_ && (asked_for_all_ || limits.any());
  }

  // A program's cgroup, made if needed; nullptr if none is wanted, or it could not be made (the log
  // says why). Valid until release().
  Cgroup* of(const std::string& program, const config::CgroupLimits& limits);
  // Nothing of the program runs any more, except what it left behind.
  void release(const std::string& program);
  // Tries again to remove what could not be removed. To be called now and then.
  void tidy();

  // Why one of a program's processes got SIGKILL, if that was because of a memory limit and has not
  // been reported yet; otherwise empty.
  std::string why_killed(const std::string& program);

  // What it uses now; nullopt if there is no cgroup.
  std::optional<Figures> figures(const std::string& program) const;
  std::optional<Figures> figures_of_all() const;
  // The folders of the cgroup for all; empty if there is none.
  std::vector<std::string> folders() const;
  // Limits that are asked for and not enforced, one sentence each.
  const std::vector<std::string>& not_held() const { return not_held_; }

 private:
  struct Program {
    Cgroup cgroup;
    bool usable = false;
    std::uint64_t oom_kills_told = 0;
  };

  void open();
  std::optional<Branch> open_branch(const Hierarchy& hierarchy);
  void take_over(const std::vector<Hierarchy>& hierarchies);
  void lock();
  void judge(const config::Settings& settings);
  void hold_all(const config::Settings& settings);
  void forget_leftover(const std::string& folder);
  void remove_all();
  std::string base_in(const Hierarchy& hierarchy) const;

  std::string name_;
  std::string place_;
  bool looked_ = false;
  bool opened_ = false;
  bool asked_for_all_ = false;
  std::optional<Cgroup> all_;
  // Shared by the bridges of one name (one drains while the next begins): the last one removes the
  // cgroups.
  base::UniqueFd lock_;
  std::map<Controller, std::string> why_not_;
  std::vector<std::string> not_held_;
  std::unordered_map<std::string, Program> programs_;
  std::vector<Cgroup> leftovers_;
};

// "guestbook.pl-1f2e3d4c": the last part of the program's path, and a hash of the whole path.
std::string cgroup_name_of(const std::string& program);
// "cgibridge-1f2e3d4c": made from the path of a bridge's control socket.
std::string bridge_cgroup_name(const std::string& control);

}  // namespace limits
