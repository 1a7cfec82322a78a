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
// asked for all together, stays where the bridge is and costs nothing.
//
// A controller that is not to be had is told in the log with its reason when a limit asks for it,
// and what the others hold is held. A cgroup is removed when its program has rested, or at the end;
// what still lives in one then (a background child), or after the bridge was killed, is left in it,
// and the next bridge of the same name goes on with it.
class Cgroups {
 public:
  // Uses none: for a bridge that runs for one command.
  Cgroups() = default;
  // name: of the cgroup for all; the same at each start of a bridge, and no other bridge's. place:
  // the cgroup below which that is made; empty: the one that this process was started in.
  Cgroups(std::string name, std::string place);
  ~Cgroups();
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  // What is asked for from here on, also of the cgroups that stand.
  void apply(const config::Settings& settings);

  // Whether a program with these limits belongs in a cgroup of its own.
  bool wanted(const config::CgroupLimits& limits) const {
    return all_ && (asked_for_all_ || limits.any());
  }

  // A program's, made if need be; nullptr if it is not wanted, or could not be made (the log says
  // why). Valid until release().
  Cgroup* of(const std::string& program, const config::CgroupLimits& limits);
  // Nothing of the program runs any more, or only what it left behind.
  void release(const std::string& program);
  // Tries again to remove what could not be removed. Now and then.
  void tidy();

  // Why one of a program's processes got SIGKILL, if it was for a limit of memory and has not been
  // told yet; else empty.
  std::string why_killed(const std::string& program);

  // What is used now; none if there is no cgroup.
  std::optional<Figures> figures(const std::string& program) const;
  std::optional<Figures> figures_of_all() const;
  // The folders of the cgroup for all; empty if there is none.
  std::vector<std::string> folders() const;
  // What is asked for and not held, a sentence each.
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
  // Shared among the bridges of one name (one drains while the next begins): the last one removes.
  base::UniqueFd lock_;
  std::map<Controller, std::string> why_not_;
  std::vector<std::string> not_held_;
  std::unordered_map<std::string, Program> programs_;
  std::vector<Cgroup> leftovers_;
};

// "guestbook.pl-1f2e3d4c": the last part of its path, and a hash of the whole.
std::string cgroup_name_of(const std::string& program);
// "cgibridge-1f2e3d4c", of a bridge's control socket.
std::string bridge_cgroup_name(const std::string& control);

}  // namespace limits
