// Who may open the sockets, and who may run the programs.
#include <fmt/format.h>

#include <set>

#include "doctor/judges.h"

namespace doctor {
namespace {

// ---- sockets ----

std::string named(const WebServer& server) {
  if (server.pid == 0) return fmt::format("{} ({})", server.name, server.who.name);
  return fmt::format("{} (pid {}, {})", server.name, server.pid, server.who.name);
}

// Why that web server gets nowhere there; empty: it does, as far as could be seen.
std::string why_not_opened(const Listening& at, const Listening::Opening& opening,
                           const Observations& seen) {
  const WebServer& server = seen.servers[opening.server];
  if (opening.sees_another) {
    return fmt::format("{} has a file system of its own, in which {} is not the bridge's socket",
                       named(server), at.address);
  }
  const std::string hindrance = why_not(server.who, opening.path, kWrite);
  if (!hindrance.empty()) return fmt::format("{} cannot open it: {}", named(server), hindrance);
  if (opening.connected && !opening.connected->works) {
    return fmt::format("{} cannot open it: {}", named(server), opening.connected->why());
  }
  return {};
}

std::string to_do_for(const Listening::Opening& opening, const Observations& seen) {
  const Who& who = seen.servers[opening.server].who;
  if (opening.sees_another) {
    return "put the socket below /run: PrivateTmp= and chroot hide /tmp and other folders";
  }
  for (const FileRights& folder : opening.path.folders) {
    if (!may(who, folder, kExecute)) {
      return fmt::format("let it enter: chmod o+x {}, or put the socket elsewhere", folder.path);
    }
  }
  if (why_not(who, opening.path, kWrite).empty()) {
    return "bridge.allow says who may connect; otherwise see AppArmor's or SELinux's log";
  }
  return fmt::format(
      "bridge.socket_group = a group of {} (with socket_mode = \"0660\"), then "
      "restart the bridge",
      who.name);
}

void judge_openings(const Listening& at, const Observations& seen, Findings& findings) {
  std::vector<std::string> good;
  std::vector<Finding> bad;
  bool unseen = false;
  for (const Listening::Opening& opening : at.openings) {
    const std::string hindrance = why_not_opened(at, opening, seen);
    unseen = unseen || (!opening.path.seen() && !opening.connected);
    if (hindrance.empty()) {
      good.push_back(named(seen.servers[opening.server]) + (opening.connected ? ", tried" : ""));
    } else {
      bad.push_back({Area::socket, Mark::wrong, fmt::format("{}: {}.", at.address, hindrance),
                     to_do_for(opening, seen)});
    }
  }
  if (unseen) {
    findings.push_back({Area::socket, Mark::note,
                        fmt::format("{}: only a part of the path can be seen.", at.address),
                        "as root, `cgibridge doctor` sees all of it, and tries it"});
  } else if (!good.empty()) {
    findings.push_back({Area::socket, Mark::ok,
                        fmt::format("{} can be opened by {}.", at.address, first_of(good, 3))});
  }
  for (Finding& finding : bad) {
    // Perhaps the other one is not meant to.
    if (!good.empty()) finding.mark = Mark::note;
    findings.push_back(std::move(finding));
  }
}

void judge_listening(const Listening& at, const Observations& seen, Findings& findings) {
  if (!at.exists) {
    findings.push_back({Area::socket, Mark::wrong, at.address + " does not exist.",
                        "the bridge makes it when it starts; whoever empties its folder removes "
                        "it: restart the bridge"});
    return;
  }
  if (at.accepted && !*at.accepted) {
    findings.push_back({Area::socket, Mark::wrong, at.address + ": nobody accepts connections.",
                        "a bridge that was killed left it behind: start the bridge"});
    return;
  }
  if (at.openings.empty() && at.is_unix) return;
  judge_openings(at, seen, findings);
}

// ---- roots ----

void judge_file(const Root::File& file, const Observations& seen,
                std::vector<std::string>& cannot_run, std::vector<std::string>& not_executable) {
  if (file.looks_like_one) return not_executable.push_back(file.rights.path);
  const auto user = seen.users.find(file.user);
  if (user == seen.users.end() || may(user->second, file.rights, kRead | kExecute)) return;
  cannot_run.push_back(fmt::format("{} by {}", described(file.rights), user->second.name));
}

void judge_users_on(const Root& root, const Observations& seen, Findings& findings) {
  std::set<std::string> told;
  for (const Root::File& file : root.files) {
    const auto user = seen.users.find(file.user);
    if (user == seen.users.end()) continue;
    PathRights way = root.rights;
    // The files are judged one by one.
    if (!way.seen()) continue;
    const std::string hindrance = why_not(user->second, way, kExecute);
    if (hindrance.empty() || !told.insert(hindrance).second) continue;
    findings.push_back({Area::roots, Mark::wrong,
                        fmt::format("{}: its programs cannot run: {}.", root.path, hindrance),
                        "chmod o+x that folder, or let programs run as another `user`"});
  }
}

void judge_root(const Root& root, const Observations& seen, Findings& findings) {
  const auto add = [&](Mark mark, std::string what, std::string to_do) {
    findings.push_back({Area::roots, mark, std::move(what), std::move(to_do)});
  };
  const std::size_t before = findings.size();
  if (!root.problem.empty()) {
    return add(Mark::wrong, root.problem + ": what it has is answered with 403 or 404.",
               "make it, or change bridge.roots");
  }
  if (root.is_noexec) {
    add(Mark::wrong,
        fmt::format("{} is on a mount with noexec: nothing there can be run.", root.path),
        "mount it with exec, or move the programs");
  }
  const std::string hindrance = why_not(seen.rights.who, root.rights, kExecute);
  if (!hindrance.empty()) {
    add(Mark::wrong, fmt::format("{} is answered with 403: {}.", root.path, hindrance),
        "chmod o+x that folder, or let the bridge run as another user");
  }
  judge_users_on(root, seen, findings);
  std::vector<std::string> cannot_run, not_executable;
  for (const Root::File& file : root.files) judge_file(file, seen, cannot_run, not_executable);
  if (!cannot_run.empty()) {
    add(Mark::wrong, fmt::format("May not be run: {}.", first_of(cannot_run, 2)),
        "chmod o+rx those that should be programs, or set `user`");
  }
  if (!not_executable.empty()) {
    add(Mark::note,
        fmt::format("Not executable, and so answered with 403: {}.", first_of(not_executable, 3)),
        "chmod +x those that should be programs");
  }
  if (findings.size() > before) return;
  if (!root.rights.seen()) {
    return add(Mark::note,
               fmt::format("{} cannot be seen from here: {}.", root.path, root.rights.unseen),
               "root sees it");
  }
  add(Mark::ok,
      fmt::format("{}: {}{} file(s) that can be programs.", root.path,
                  root.has_more ? "more than " : "", root.files.size()),
      "");
}

}  // namespace

void judge_sockets(const Observations& seen, Findings& findings) {
  if (seen.listening.empty()) {
    findings.push_back({Area::socket, Mark::note,
                        "The settings name no address to listen on: sockets are handed over at "
                        "the start.",
                        ""});
  }
  for (const Listening& at : seen.listening) judge_listening(at, seen, findings);
  if (!seen.servers.empty()) return;
  findings.push_back(
      {Area::socket, Mark::note,
       seen.in_containers
           ? "The web servers that run here are in containers, which see other files."
           : "No web server was found (nginx, Apache, lighttpd, Caddy, HAProxy, h2o).",
       "start it, or say as whom it runs: cgibridge doctor --server-user www-data"});
}

void judge_roots(const Observations& seen, Findings& findings) {
  for (const Root& root : seen.roots) judge_root(root, seen, findings);
}

}  // namespace doctor
