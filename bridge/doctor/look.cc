#include "doctor/look.h"

#include <unistd.h>

#include <filesystem>

#include "doctor/access_look.h"
#include "doctor/bridge_look.h"
#include "doctor/kernel_trials.h"
#include "doctor/path_look.h"
#include "doctor/process_look.h"
#include "limits/privileges.h"
#include "limits/users.h"
#include "loop/clock.h"

namespace doctor {
namespace {

bool asks_for_user(const config::ProgramSettings& program) {
  return !program.user.empty();
}

Needs needs_of(const config::Settings& settings) {
  Needs needs{.connections = settings.bridge.connections_max,
              .workers = settings.bridge.workers_max,
              .zygotes = settings.bridge.zygotes_max};
  needs.user = asks_for_user(settings.defaults);
  needs.limits = settings.bridge.limits.any() || settings.defaults.limits.any();
  needs.tracking = config::to_string(settings.defaults.rewind.tracking);
  for (const config::ProgramSettings& program : settings.programs) {
    needs.user = needs.user || asks_for_user(program);
    needs.limits = needs.limits || program.limits.any();
  }
  return needs;
}

// Whether all these programs run as the bridge's own user anyway.
bool is_own_user(const config::Settings& settings, const Who& bridge) {
  limits::Users users(loop::system_clock());
  const auto own = [&](const config::ProgramSettings& program) {
    if (program.user.empty()) return true;
    const auto& user = users.named(program.user);
    return program.user != "owner" && user && user.value().uid == bridge.uid;
  };
  if (!own(settings.defaults)) return false;
  for (const config::ProgramSettings& program : settings.programs) {
    if (!own(program)) return false;
  }
  return true;
}

// The user that most programs run as, if this process may become that user.
std::optional<Who> usual_user(const config::Settings& settings) {
  if (!limits::may_change_users() || settings.defaults.user.empty()) return std::nullopt;
  limits::Users users(loop::system_clock());
  const auto& user = users.named(settings.defaults.user);
  if (!user) return std::nullopt;
  const limits::Identity& found = user.value();
  return Who{found.name, found.uid, found.gid, found.groups};
}

// A bridge that cannot be asked: its control socket belongs to its user.
void guess_rights(const Bridge& bridge, Rights& rights) {
  if (bridge.status.is_object()) return;
  rights.of = Rights::Of::own;
  FileRights control;
  if (!bridge.may_be_running || !look_at_file(bridge.control, control)) return;
  rights.of = Rights::Of::guessed;
  rights.who = who_is(control.owner, control.group, {});
  rights.changes_users = control.owner == 0;
  rights.descriptors_suffice = true;
}

bool is_own_page(const AskedUrl& url, const config::BridgeSettings& bridge) {
  const std::string_view path = url.path();
  const bool is_page = !bridge.page.path.empty() && path.starts_with(bridge.page.path);
  return is_page || (!bridge.health.empty() && path == bridge.health);
}

}  // namespace

Observations look(const Question& question) {
  Observations seen;
  seen.is_root = limits::may_change_users();
  seen.needs = needs_of(question.settings);
  seen.bridge = look_at_bridge(question.control);
  seen.bridge.own_version = question.version;
  std::error_code ignored;
  seen.bridge.settings_file = std::filesystem::absolute(question.settings_file, ignored);
  const ::pid_t pid =
      seen.bridge.status.is_object()
          ? seen.bridge.status.value("bridge", nlohmann::json::object()).value("pid", ::pid_t{0})
          : 0;
  seen.kernel = try_kernel(usual_user(question.settings));
  seen.rights = look_at_rights(pid, question.settings, question.adapters);
  guess_rights(seen.bridge, seen.rights);
  if (is_own_user(question.settings, seen.rights.who)) seen.rights.changes_users = true;
  if (question.server_user) {
    seen.servers.push_back({"the web server", 0, *question.server_user});
  } else {
    auto [servers, in_containers] = find_web_servers();
    seen.servers = std::move(servers);
    seen.in_containers = in_containers;
  }
  seen.listening = look_at_sockets(question.settings, seen);
  look_at_roots(question.settings, seen);
  if (question.url) {
    seen.request = follow_request(*question.url, seen.bridge);
    seen.request->is_own_page = is_own_page(*question.url, question.settings.bridge);
    // What the request has done to its program is asked afterwards.
    seen.bridge = [&] {
      Bridge now = look_at_bridge(question.control);
      now.own_version = seen.bridge.own_version;
      now.settings_file = seen.bridge.settings_file;
      return now;
    }();
  }
  return seen;
}

}  // namespace doctor
