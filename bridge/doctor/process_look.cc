#include "doctor/process_look.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "doctor/proc_texts.h"
#include "limits/cgroup.h"
#include "limits/hierarchies.h"
#include "limits/unified_tree.h"
#include "limits/users.h"
#include "loop/clock.h"
#include "policy/connections.h"
#include "router/elf_file.h"
#include "sandbox/sandboxes.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSetUidAndGid = (1ull << CAP_SETUID) | (1ull << CAP_SETGID);
// What every installation has, on the machines that the checkpoint library is built for.
constexpr const char* kPartsOfCheckpoint[] = {"libcgibridge_checkpoint.so", "cgibridge-static"};
constexpr const char* kParts[] = {"cgibridge-step-down", "perl/CGIBridge.pm", "python/start.py",
                                  "ruby/start.rb",       "node/start.js",     "tcl/init.tcl",
                                  "libcgibridge_java.so"};

std::string folder_of(::pid_t pid) {
  return pid > 0 ? fmt::format("/proc/{}", pid) : "/proc/self";
}

std::string executable_of(::pid_t pid) {
  std::error_code hidden;
  std::string name = fs::read_symlink(folder_of(pid) + "/exe", hidden).filename().string();
  constexpr std::string_view kGone = " (deleted)";
  if (name.ends_with(kGone)) name.resize(name.size() - kGone.size());
  return name;
}

struct Candidate {
  ::pid_t pid = 0;
  std::string_view server;
  ProcessStatus status;
};

std::vector<Candidate> candidates() {
  std::vector<Candidate> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    ::pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
    auto status = parse_status(limits::read_small_file(folder_of(pid) + "/status"));
    // It may be a thread's name, which is why the file counts as well; only root sees all of them.
    if (!status || web_server_of(status->name, {}).empty()) continue;
    const std::string_view server = web_server_of(status->name, executable_of(pid));
    if (!server.empty()) found.push_back({pid, server, std::move(*status)});
  }
  return found;
}

bool only_starts_others(const Candidate& one, const std::vector<Candidate>& all) {
  return one.status.uid == 0 && std::ranges::any_of(all, [&](const Candidate& other) {
           return other.status.parent == one.pid && other.status.uid != 0;
         });
}

bool has_same_rights(const WebServer& one, const WebServer& other) {
  return one.name == other.name && one.who.uid == other.who.uid && one.who.gid == other.who.gid &&
         one.who.groups == other.who.groups;
}

// Looks only: nothing is made, and nothing written.
void look_at_cgroups(::pid_t bridge, const config::BridgeSettings& settings, Rights& rights) {
  const std::string own = limits::read_small_file(folder_of(bridge) + "/cgroup");
  const auto hierarchies =
      limits::find_hierarchies(limits::read_small_file("/proc/self/mountinfo"), own);
  if (hierarchies.empty()) rights.why_no_cgroups = "no cgroups are mounted";
  for (const limits::Hierarchy& one : hierarchies) {
    const bool unified = one.version == limits::Version::v2;
    std::string folder = unified ? limits::base_of(one.own) : one.own;
    if (!settings.cgroup.empty()) folder = one.mount + settings.cgroup;
    const std::string has = unified ? limits::read_small_file(folder + "/cgroup.controllers") : "";
    if (unified && limits::controllers_in(has).empty()) {
      if (rights.why_no_cgroups.empty()) {
        rights.why_no_cgroups = folder + " was given no controllers";
      }
    } else if (::access(folder.c_str(), W_OK) != 0) {
      rights.why_no_cgroups = folder + " may not be written to";
    } else if (rights.cgroups.empty()) {
      rights.cgroups = folder + (unified ? " (v2)" : " (v1)");
    }
  }
  if (!rights.cgroups.empty()) rights.why_no_cgroups.clear();
}

void look_at_descriptors(::pid_t bridge, const config::BridgeSettings& settings, Rights& rights) {
  const auto limit = open_files_limit(limits::read_small_file(folder_of(bridge) + "/limits"));
  if (!limit) return;
  const policy::DescriptorUsers asked{.connections_max = settings.connections_max,
                                      .workers_max = settings.workers_max,
                                      .zygotes_max = settings.zygotes_max};
  rights.descriptors = *limit;
  rights.descriptors_suffice = !policy::is_less(policy::fit_descriptors(*limit, asked), asked);
}

}  // namespace

Who who_is(::uid_t uid, ::gid_t gid, std::vector<::gid_t> groups) {
  const passwd* user = ::getpwuid(uid);
  return {user == nullptr ? std::to_string(uid) : user->pw_name, uid, gid, std::move(groups)};
}

FoundServers find_web_servers() {
  FoundServers found;
  const std::vector<Candidate> all = candidates();
  for (const Candidate& one : all) {
    if (one.status.in_container) {
      found.in_containers = true;
      continue;
    }
    if (only_starts_others(one, all)) continue;
    WebServer server{std::string(one.server), one.pid,
                     who_is(one.status.uid, one.status.gid, one.status.groups)};
    const bool known = std::ranges::any_of(
        found.servers, [&](const WebServer& other) { return has_same_rights(server, other); });
    if (!known) found.servers.push_back(std::move(server));
  }
  std::ranges::sort(found.servers, {}, &WebServer::pid);
  return found;
}

Rights look_at_rights(::pid_t bridge, const config::Settings& settings,
                      const std::string& adapters) {
  Rights rights;
  const auto status = parse_status(limits::read_small_file(folder_of(bridge) + "/status"));
  if (status) {
    rights.who = who_is(status->uid, status->gid, status->groups);
    rights.changes_users =
        status->uid == 0 && (status->capabilities & kSetUidAndGid) == kSetUidAndGid;
  }
  look_at_cgroups(bridge, settings.bridge, rights);
  look_at_descriptors(bridge, settings.bridge, rights);
  const auto look_for = [&](const char* part) {
    const std::string file = adapters + "/" + part;
    if (::access(file.c_str(), R_OK) != 0) rights.missing_parts.push_back(file);
  };
  for (const char* part : kParts) look_for(part);
  if (router::kHasCheckpoint) std::ranges::for_each(kPartsOfCheckpoint, look_for);
  const sandbox::Sandboxes sandboxes(loop::system_clock(), adapters);
  for (auto& word : sandboxes.words_for(settings)) {
    rights.sandboxes.push_back({word.held, std::move(word.text)});
  }
  return rights;
}

std::chrono::seconds running_since(::pid_t pid) {
  const auto seconds =
      seconds_since_start(limits::read_small_file(folder_of(pid) + "/stat"),
                          limits::read_small_file("/proc/uptime"), ::sysconf(_SC_CLK_TCK));
  return std::chrono::seconds(seconds.value_or(0));
}

}  // namespace doctor
