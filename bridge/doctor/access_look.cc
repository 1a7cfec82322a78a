#include "doctor/access_look.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/unique_fd.h"
#include "config/listen_address.h"
#include "doctor/path_look.h"
#include "doctor/proc_texts.h"
#include "doctor/trial_child.h"
#include "limits/cgroup.h"
#include "limits/users.h"
#include "loop/clock.h"
#include "router/roots.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;
using config::ListenAddress;

constexpr base::Duration kPatience{2000};
// bridge.allow closes a connection that it does not accept at once.
constexpr int kUntilRefused_ms = 150;

std::string root_of(const WebServer& server) {
  return server.pid > 0 ? fmt::format("/proc/{}/root", server.pid) : std::string();
}

// Runs in a child, which thereby loses its rights.
Trial connect_as(const WebServer& server, const std::string& path) {
  if (const std::string top = root_of(server); !top.empty()) {
    if (::chdir(top.c_str()) != 0 || ::chroot(".") != 0) return failed_at("its file system");
  }
  if (const Trial changed = become(server.who); !changed.works) return changed;
  const base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  // EAGAIN: its queue is full; it may be opened.
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  if (::connect(fd.get(), address, sizeof name) != 0 && errno != EAGAIN) {
    return failed_at("connect");
  }
  pollfd closed{.fd = fd.get(), .events = POLLIN, .revents = 0};
  if (::poll(&closed, 1, kUntilRefused_ms) == 0) return {.works = true};
  errno = ECONNRESET;
  return failed_at("the bridge closes it at once");
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first = {}, second = {};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

Listening::Opening opening_of(std::size_t index, const std::string& path,
                              const Observations& seen) {
  const WebServer& server = seen.servers[index];
  const std::string top = root_of(server);
  Listening::Opening opening{.server = index, .path = {}};
  // Without root's rights, its file system is assumed to be ours.
  const bool inside = seen.is_root && !top.empty();
  opening.path = look_at_path(path, inside ? top : "");
  if (!seen.is_root) return opening;
  const PathRights ours = look_at_path(path);
  opening.sees_another =
      inside && ours.seen() && !is_same_file(path, top + fs::weakly_canonical(path).string());
  if (opening.sees_another) return opening;
  const std::string real = fs::weakly_canonical(path).string();
  opening.connected = in_child([&] { return connect_as(server, real); }, kPatience);
  return opening;
}

Listening look_at_unix(const std::string& path, const Observations& seen) {
  Listening at{.address = "unix:" + path, .is_unix = true};
  struct stat file = {};
  const bool found = ::stat(path.c_str(), &file) == 0;
  at.exists = (found && S_ISSOCK(file.st_mode)) || (!found && errno == EACCES);
  if (found) at.accepted = accepts_at_path(limits::read_small_file("/proc/net/unix"), path);
  if (!at.exists || (at.accepted && !*at.accepted)) return at;
  for (std::size_t i = 0; i < seen.servers.size(); ++i) {
    at.openings.push_back(opening_of(i, path, seen));
  }
  return at;
}

// What may connect there is up to the network, and to bridge.allow.
Listening look_at_tcp(const ListenAddress& address, const Observations& seen) {
  Listening at{.address = config::to_string(address)};
  at.accepted = accepts_on_port(limits::read_small_file("/proc/net/tcp"), address.port) ||
                accepts_on_port(limits::read_small_file("/proc/net/tcp6"), address.port);
  for (std::size_t i = 0; i < seen.servers.size(); ++i) {
    at.openings.push_back({.server = i, .path = {}});
  }
  return at;
}

std::vector<ListenAddress> addresses_of(const config::Settings& settings,
                                        const Observations& seen) {
  std::vector<ListenAddress> addresses = settings.bridge.listen;
  if (!addresses.empty() || !seen.bridge.status.is_object()) return addresses;
  const auto names = seen.bridge.status.value("bridge", nlohmann::json::object())
                         .value("listening", std::vector<std::string>());
  for (const std::string& name : names) {
    if (auto parsed = config::parse_listen_address(name)) addresses.push_back(parsed.take());
  }
  return addresses;
}

// ---- roots ----

bool begins_as_script(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, 2> first{};
  return fd && ::read(fd.get(), first.data(), first.size()) == 2 && first[0] == '#' &&
         first[1] == '!';
}

// The user that a program runs as; a key of users. "": not known here.
std::string user_of(const config::ProgramSettings& program, limits::Users& known,
                    Observations& seen) {
  if (program.user == "owner") return {};
  if (program.user.empty()) {
    seen.users.emplace("the bridge", seen.rights.who);
    return "the bridge";
  }
  const auto& identity = known.named(program.user);
  if (!identity) return {};
  const limits::Identity& user = identity.value();
  seen.users.emplace(program.user, Who{user.name, user.uid, user.gid, user.groups});
  return program.user;
}

void look_at_program(const std::string& path, const config::Settings& settings,
                     limits::Users& known, Observations& seen, Root& root) {
  Root::File file;
  if (!look_at_file(path, file.rights) || !S_ISREG(file.rights.mode)) return;
  const config::ProgramSettings& program = settings.for_program(path);
  if (!program.interpreter.empty()) return;
  const bool executable = (file.rights.mode & 0111) != 0;
  file.looks_like_one = !executable && (path.ends_with(".cgi") || begins_as_script(path));
  if (!executable && !file.looks_like_one) return;
  file.user = user_of(program, known, seen);
  root.files.push_back(std::move(file));
}

Root look_at_root(const std::string& path, const config::Settings& settings, limits::Users& known,
                  Observations& seen) {
  Root root{.path = path};
  const router::Roots resolved({path});
  root.rights = look_at_path(path);
  if (!resolved.problems().empty() && root.rights.folders.empty() == false) {
    if (root.rights.unseen.find(std::strerror(EACCES)) == std::string::npos) {
      root.problem = resolved.problems().front();
    }
    return root;
  }
  struct statvfs mount = {};
  root.is_noexec = ::statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0;
  for (const std::string& file : resolved.files()) {
    look_at_program(file, settings, known, seen, root);
  }
  if (!resolved.folders().empty()) {
    // By the names that web servers use, which patterns in the settings mean.
    std::error_code ignored;
    std::vector<std::string> names;
    for (fs::directory_iterator at(path, ignored), end; at != end; at.increment(ignored)) {
      root.has_more = names.size() == kFilesMax;
      if (root.has_more) break;
      names.push_back(at->path().string());
    }
    std::ranges::sort(names);
    for (const std::string& name : names) look_at_program(name, settings, known, seen, root);
  }
  return root;
}

}  // namespace

std::vector<Listening> look_at_sockets(const config::Settings& settings, const Observations& seen) {
  std::vector<Listening> found;
  for (const ListenAddress& address : addresses_of(settings, seen)) {
    found.push_back(address.kind == ListenAddress::Kind::unix_socket
                        ? look_at_unix(address.path, seen)
                        : look_at_tcp(address, seen));
  }
  return found;
}

void look_at_roots(const config::Settings& settings, Observations& seen) {
  limits::Users known(loop::system_clock());
  for (const std::string& path : settings.bridge.roots) {
    seen.roots.push_back(look_at_root(path, settings, known, seen));
  }
}

}  // namespace doctor
