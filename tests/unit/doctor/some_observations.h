// A machine on which everything is as it should be, for tests to break.
#pragma once

#include <sys/stat.h>

#include "doctor/finding.h"

namespace doctor {

inline nlohmann::json some_program(const std::string& path) {
  const nlohmann::json classic = {{"latency_us", {{"p50", 100'000}}}};
  const nlohmann::json rewind = {{"latency_us", {{"p50", 1000}}}};
  return {{"path", path},
          {"mode", "persistent"},
          {"sides", {{"effective", "persistent"}}},
          {"level", "compiled"},
          {"level_reason", ""},
          {"retry_in_ms", nullptr},
          {"warm", {{"requests", 99}, {"of", 100}, {"told", ""}}},
          {"misfits", {{"count", 0}, {"variable", ""}}},
          {"failed_steps", nlohmann::json::array()},
          {"reset_reason", ""},
          {"reset_asked", "rewind"},
          {"requests", 100},
          {"rewind", {{"rewinds", 99}, {"tracking", "scan"}}},
          {"arms", {{"classic", classic}, {"rewind", rewind}}}};
}

inline Observations all_is_well() {
  Observations seen{.is_root = true};
  const Trial works{.works = true};
  seen.kernel = {.tried_as = "www-data",
                 .scan = works,
                 .soft_dirty = works,
                 .dispatch = works,
                 .ptrace = works,
                 .seccomp = works,
                 .landlock = 6};
  seen.needs.user = true;
  seen.rights.who = {"root", 0, 0};
  seen.rights.changes_users = true;
  seen.rights.cgroups = "/sys/fs/cgroup/x (v2)";
  seen.bridge = {.control = "/run/c", .own_version = "1", .settings_file = "/etc/c.toml"};
  seen.bridge.status = {{"bridge",
                         {{"version", "1"},
                          {"pid", 7},
                          {"not_ready", ""},
                          {"draining", false},
                          {"settings", {{"file", "/etc/c.toml"}}}}},
                        {"programs", {some_program("/srv/a.cgi")}}};
  seen.servers = {{"nginx", 80, {"www-data", 33, 33}}};
  PathRights way;
  way.folders = {{.path = "/", .mode = S_IFDIR | 0755}, {.path = "/run", .mode = S_IFDIR | 0755}};
  way.last = {.path = "/run/s", .mode = S_IFSOCK | 0666};
  seen.listening = {{.address = "unix:/run/s", .is_unix = true, .accepted = true}};
  seen.listening[0].openings = {{.server = 0, .path = way, .connected = works}};
  seen.users["www-data"] = {"www-data", 33, 33};
  Root root{.path = "/srv"};
  root.rights.folders = {{.path = "/", .mode = S_IFDIR | 0755}};
  root.rights.last = {.path = "/srv", .mode = S_IFDIR | 0755};
  root.files = {{.rights = {.path = "/srv/a.cgi", .mode = S_IFREG | 0755}, .user = "www-data"}};
  seen.roots = {root};
  return seen;
}

}  // namespace doctor
