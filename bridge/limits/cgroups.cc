#include "limits/cgroups.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/log.h"
#include "limits/privileges.h"
#include "limits/unified_tree.h"

namespace limits {
namespace {

const std::vector<Controller> kWanted = {Controller::cpu, Controller::memory, Controller::pids};
// How long to wait at the end for zygotes and workers that are exiting.
constexpr std::chrono::milliseconds kEndPatience{500};
constexpr std::chrono::milliseconds kEndStep{5};

// FNV-1a
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2'166'136'261u;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 16'777'619u;
  return hash;
}

// Makes folder and what is above it, below mount; in v2 each one passes the controllers on.
base::Status make_path(const Hierarchy& hierarchy, const std::string& folder) {
  for (std::size_t end = hierarchy.mount.size(); end != std::string::npos;) {
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return base::errno_error("cannot make the cgroup " + part, errno);
    }
    if (hierarchy.version == Version::v2 && part != folder) (void)open_controllers(part, kWanted);
    end = end >= folder.size() ? std::string::npos
                               : std::min(folder.find('/', end + 1), folder.size());
  }
  return base::Done{};
}

// Every limit that somebody asks for, by its name in the settings.
std::vector<std::string> asked_words(const config::Settings& settings, Controller controller) {
  std::vector<std::string> words;
  const auto add = [&](std::string_view section, const config::CgroupLimits& limits) {
    for (const std::string_view name : asked_of(controller, limits)) {
      std::string word = fmt::format("{}limits.{}", section, name);
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
  };
  add("bridge.", settings.bridge.limits);
  add("", settings.defaults.limits);
  for (const config::ProgramSettings& program : settings.programs) add("", program.limits);
  return words;
}

bool asks_for_any(const config::Settings& settings) {
  return settings.bridge.limits.any() || settings.defaults.limits.any() ||
         std::any_of(settings.programs.begin(), settings.programs.end(),
                     [](const auto& program) { return program.limits.any(); });
}

// Whether a running bridge uses the cgroup of that folder.
bool is_locked(const std::string& folder) {
  const base::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

void tell(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    base::log_warn("cgroups: {}; that one stays as it was", problem);
  }
}

}  // namespace

std::string cgroup_name_of(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1).substr(0, 64);
  for (char& byte : name) {
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-';
    if (!plain) byte = '_';
  }
  return fmt::format("{}-{:08x}", name, hash_of(program));
}

std::string bridge_cgroup_name(const std::string& control) {
  return fmt::format("cgibridge-{:08x}", hash_of(control));
}

Cgroups::Cgroups(std::string name, std::string place)
    : name_(std::move(name)), place_(std::move(place)) {}

Cgroups::~Cgroups() {
  if (all_) {
    remove_all();
  } else {
    tidy();
  }
}

// ---- where they are ----

std::string Cgroups::base_in(const Hierarchy& hierarchy) const {
  if (!place_.empty()) return hierarchy.mount + place_;
  return hierarchy.version == Version::v1 ? hierarchy.own : base_of(hierarchy.own);
}

void Cgroups::open() {
  opened_ = true;
  const Raised into_other_folders(CAP_DAC_OVERRIDE);  // a root of v1 may be read-only for all
  const auto hierarchies = find_hierarchies(read_small_file("/proc/self/mountinfo"),
                                            read_small_file("/proc/self/cgroup"));
  std::vector<Branch> branches;
  for (const Hierarchy& hierarchy : hierarchies) {
    if (auto branch = open_branch(hierarchy)) branches.push_back(std::move(*branch));
  }
  if (branches.empty()) return;
  for (const Branch& branch : branches) forget_leftover(branch.folder);
  all_.emplace(std::move(branches));
  lock();
  base::log_info("cgroups: what asks for limits runs below {}", fmt::join(folders(), ", "));
}

// The part in one tree of the cgroup for all; none if it is not available.
std::optional<Branch> Cgroups::open_branch(const Hierarchy& hierarchy) {
  Branch branch{hierarchy.version, hierarchy.controllers, base_in(hierarchy)};
  const bool unified = hierarchy.version == Version::v2;
  base::Status made = base::Done{};
  if (unified && controllers_in(read_small_file(hierarchy.mount + "/cgroup.controllers")).empty()) {
    made = base::Error{hierarchy.mount + " has none of these controllers"};
  }
  if (made && !place_.empty()) made = make_path(hierarchy, branch.folder);
  if (made && unified) {
    auto opened = open_controllers(branch.folder, kWanted);
    if (!opened) made = opened.error();
  }
  branch.folder += "/" + name_;
  if (made) made = Cgroup({branch}).make();
  if (made && unified) {
    auto opened = open_controllers(branch.folder, kWanted);
    if (opened) {
      branch.controllers = opened.take();
    } else {
      made = opened.error();
    }
  }
  if (made) return branch;
  for (const Controller controller : unified ? kWanted : branch.controllers) {
    why_not_.emplace(controller, made.error().message);
  }
  return std::nullopt;
}

// Another bridge of this name may be about to end.
void Cgroups::lock() {
  const std::string& folder = all_->branches().front().folder;
  for (int attempt = 0; attempt < 3; ++attempt) {
    lock_ = base::UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock_ && ::flock(lock_.get(), LOCK_SH) == 0 && ::access(folder.c_str(), F_OK) == 0) break;
    (void)all_->make();
  }
}

// Removes what a killed bridge has left, if nothing runs in it.
void Cgroups::take_over(const std::vector<Hierarchy>& hierarchies) {
  const bool in_use = std::any_of(hierarchies.begin(), hierarchies.end(), [&](const auto& one) {
    return is_locked(base_in(one) + "/" + name_);
  });
  if (in_use) return;
  for (const Hierarchy& hierarchy : hierarchies) {
    Cgroup old({{hierarchy.version, hierarchy.controllers, base_in(hierarchy) + "/" + name_}});
    std::size_t alive = 0;
    for (const std::string& name : old.names_below()) {
      Cgroup program = old.below(name);
      if (program.remove()) continue;
      ++alive;
      leftovers_.push_back(std::move(program));
    }
    if (old.remove()) continue;
    base::log_info("cgroups: of an earlier bridge {} are alive below {}: removed when they end",
                   alive, old.branches().front().folder);
    leftovers_.push_back(std::move(old));
  }
}

// ---- what they enforce ----

void Cgroups::apply(const config::Settings& settings) {
  if (name_.empty()) return;
  asked_for_all_ = settings.bridge.limits.any();
  if (!std::exchange(looked_, true)) {
    take_over(find_hierarchies(read_small_file("/proc/self/mountinfo"),
                               read_small_file("/proc/self/cgroup")));
  }
  if (!opened_ && asks_for_any(settings)) open();
  judge(settings);
  if (all_) hold_all(settings);
}

void Cgroups::judge(const config::Settings& settings) {
  std::vector<std::string> before = std::move(not_held_);
  not_held_.clear();
  for (const Controller controller : kWanted) {
    const std::vector<std::string> words = asked_words(settings, controller);
    const bool there =
        all_ && std::any_of(all_->branches().begin(), all_->branches().end(), [&](const auto& at) {
          return std::find(at.controllers.begin(), at.controllers.end(), controller) !=
                 at.controllers.end();
        });
    if (words.empty() || there) continue;
    const auto why = why_not_.find(controller);
    not_held_.push_back(fmt::format(
        "{}: {}", fmt::join(words, ", "),
        why == why_not_.end() ? fmt::format("no cgroups with {} here", to_string(controller))
                              : why->second));
  }
  if (not_held_ == before) return;
  for (const std::string& one : not_held_) {
    base::log_warn("cgroups: not held: {}; programs run without, all other limits hold", one);
  }
}

// v1 refuses a CPU ceiling that is above the parent's, and one that is below a child's.
void Cgroups::hold_all(const config::Settings& settings) {
  const config::CgroupLimits& together = settings.bridge.limits;
  if (all_->held() != together) {
    for (auto& [path, program] : programs_) {
      config::CgroupLimits without = program.cgroup.held();
      without.cpu = 0;
      if (program.usable) (void)program.cgroup.hold(without);
    }
    tell(all_->hold(together));
  }
  for (auto& [path, program] : programs_) {
    const config::CgroupLimits own = within(settings.for_program(path).limits, together);
    if (program.usable && own != program.cgroup.held()) tell(program.cgroup.hold(own));
  }
}

// ---- the programs' ----

Cgroup* Cgroups::of(const std::string& program, const config::CgroupLimits& limits) {
  if (!wanted(limits)) return nullptr;
  const auto found = programs_.find(program);
  if (found != programs_.end()) return found->second.usable ? &found->second.cgroup : nullptr;
  Program& made =
      programs_.emplace(program, Program{.cgroup = all_->below(cgroup_name_of(program))})
          .first->second;
  const auto status = made.cgroup.make();
  made.usable = status.ok();
  if (!status) {
    base::log_warn("program={} runs without its limits for now: {}", program,
                   status.error().message);
    return nullptr;
  }
  for (const Branch& branch : made.cgroup.branches()) forget_leftover(branch.folder);
  tell(made.cgroup.hold(within(limits, all_->held())));
  made.oom_kills_told = made.cgroup.figures().oom_kills;
  return &made.cgroup;
}

void Cgroups::release(const std::string& program) {
  const auto found = programs_.find(program);
  if (found == programs_.end()) return;
  if (!found->second.cgroup.remove()) leftovers_.push_back(std::move(found->second.cgroup));
  programs_.erase(found);
}

// The folder is in use again.
void Cgroups::forget_leftover(const std::string& folder) {
  std::erase_if(leftovers_,
                [&](const Cgroup& old) { return old.branches().front().folder == folder; });
}

void Cgroups::tidy() {
  if (leftovers_.empty()) return;
  const Raised from_other_folders(CAP_DAC_OVERRIDE);
  std::erase_if(leftovers_, [](const Cgroup& cgroup) { return cgroup.remove(); });
}

void Cgroups::remove_all() {
  if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return;
  for (auto& [path, program] : programs_) leftovers_.push_back(std::move(program.cgroup));
  tidy();
  for (auto left = kEndPatience; !leftovers_.empty() && left.count() > 0; left -= kEndStep) {
    std::this_thread::sleep_for(kEndStep);
    tidy();
  }
  const Raised from_other_folders(CAP_DAC_OVERRIDE);
  if (leftovers_.empty() && all_->remove()) return;
  base::log_info("cgroups: processes that programs left behind live on below {}",
                 fmt::join(folders(), ", "));
}

// ---- what they show ----

std::string Cgroups::why_killed(const std::string& program) {
  const auto found = programs_.find(program);
  if (found == programs_.end() || !found->second.usable) return {};
  const std::uint64_t kills = found->second.cgroup.figures().oom_kills;
  if (kills <= std::exchange(found->second.oom_kills_told, kills)) return {};
  const std::uint64_t own = found->second.cgroup.held().memory, all = all_->held().memory;
  std::string limit = own > 0 ? fmt::format("limits.memory is {} KiB", own / 1024) : "";
  if (all > 0) {
    limit += fmt::format("{}bridge.limits.memory is {} KiB", own > 0 ? ", " : "", all / 1024);
  }
  return "out of memory" + (limit.empty() ? "" : " (" + limit + ")");
}

std::optional<Figures> Cgroups::figures(const std::string& program) const {
  const auto found = programs_.find(program);
  if (found == programs_.end() || !found->second.usable) return std::nullopt;
  return found->second.cgroup.figures();
}

// v1 counts a kill only in the cgroup where the process was.
std::optional<Figures> Cgroups::figures_of_all() const {
  if (!all_) return std::nullopt;
  Figures all = all_->figures();
  std::uint64_t kills = 0, refused = 0;
  for (const auto& [path, program] : programs_) {
    const Figures own = program.cgroup.figures();
    kills += own.oom_kills;
    refused += own.forks_refused;
  }
  all.oom_kills = std::max(all.oom_kills, kills);
  all.forks_refused = std::max(all.forks_refused, refused);
  return all;
}

std::vector<std::string> Cgroups::folders() const {
  std::vector<std::string> folders;
  if (!all_) return folders;
  for (const Branch& branch : all_->branches()) folders.push_back(branch.folder);
  return folders;
}

}  // namespace limits
