#include "router/resolver.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "router/wasm_file.h"

namespace router {
namespace {

using cgi::Refusal;

// Twice the length of a path: the script's, and the request's path after it.
constexpr std::size_t kPathBytesMax = 2 * PATH_MAX;

// How long a link must have existed before it is followed by name; a younger one is checked again
// when it has, unless there were this many recently, because the loop waits for it.
constexpr std::chrono::milliseconds kStands{50};
constexpr std::chrono::seconds kLately{1};
constexpr std::size_t kWaitsMost = 5;
// After a link was remade in the meantime, all links must have existed for this long; that rule
// lasts as long.
constexpr std::chrono::seconds kRestless{60};
// The same if a known link was seen to change this often within that time: wherever it points at
// the moment, it is about to be moved again.
constexpr std::ptrdiff_t kChangesMost = 8;
constexpr std::size_t kChangesKept = 64;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::optional<Refusal> refuse_spelling(std::string_view path) {
  if (!path.starts_with('/')) return Refusal{404, "script path is not absolute"};
  if (path.size() > kPathBytesMax) return Refusal{404, "script path is too long"};
  if (path.find('\0') != std::string_view::npos) return Refusal{404, "NUL byte in script path"};
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view segment = path.substr(start, slash - start);
    if (segment == "." || segment == "..") {
      return Refusal{403, "\".\" or \"..\" in script path: " + std::string(path)};
    }
    start = slash + 1;
  }
  return std::nullopt;
}

Refusal refuse_errno(const std::string& path, int error_number) {
  const bool is_hidden = error_number == EACCES || error_number == EPERM || error_number == ELOOP;
  return {is_hidden ? 403 : 404, path + ": " + std::strerror(error_number)};
}

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISDIR(mode)) return "a folder";
  return "a device";
}

// Neither clients nor DOCUMENT_ROOTs that end in a slash must turn one program into two.
std::string without_doubled_slashes(const std::string& path) {
  std::string single;
  single.reserve(path.size());
  for (const char c : path) {
    if (c != '/' || !single.ends_with('/')) single.push_back(c);
  }
  return single;
}

// How much longer the youngest link must exist. A time in the future comes from another machine.
// Files are stamped by a clock that stands still for some milliseconds, so a link made now counts
// as younger.
std::int64_t has_to_stand(const std::vector<LinkOnPath>& links, std::chrono::nanoseconds time,
                          std::int64_t now) {
  const std::int64_t so_long = time.count();
  std::int64_t longest = 0;
  for (const LinkOnPath& link : links) {
    if (link.changed_ns <= now) longest = std::max(longest, link.changed_ns + so_long - now);
  }
  return longest;
}

void wait_for(std::int64_t nanoseconds) {
  const timespec time{0, nanoseconds};
  ::nanosleep(&time, nullptr);
}

enum class Links { refused, followed };

// The file that a path leads to, without opening it.
base::UniqueFd find(const std::string& path, Links links) {
  if (links == Links::followed) return base::UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return base::UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

// The path that the kernel has for it; empty without /proc.
std::string place_of(int fd) {
  char name[32], place[PATH_MAX];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(name, place, sizeof place);
  return length > 0 ? std::string(place, static_cast<std::size_t>(length)) : std::string();
}

// Whether path still leads to that very file, at the same place and through those links.
bool leads_to(const std::string& path, const ProgramFile& file,
              const std::vector<LinkOnPath>& links) {
  for (const LinkOnPath& link : links) {
    if (look_at_link(link.path) != link) return false;
  }
  base::UniqueFd found = find(path, links.empty() ? Links::refused : Links::followed);
  // Before Linux 5.6 there is no openat2(), and a container may forbid it.
  const bool unknown = !found && links.empty() && (errno == ENOSYS || errno == EPERM);
  if (unknown) found = find(path, Links::followed);
  struct stat now = {};
  if (!found || ::fstat(found.get(), &now) != 0 || identity_of(now) != file.identity) return false;
  return (links.empty() && !unknown) || place_of(found.get()) == file.path;
}

// The length of the leading part of path, in whole segments, that is not a folder. The number of
// file system calls is bounded by the folders that really exist.
cgi::OrRefusal<std::size_t> find_file(std::string_view path) {
  std::string prefix;
  prefix.reserve(path.size());
  for (std::size_t end = 1; end < path.size();) {
    if (path[end] == '/') {
      ++end;  // DOCUMENT_ROOT ending in a slash gives two
      continue;
    }
    end = std::min(path.find('/', end), path.size());
    prefix.assign(path.substr(0, end));
    struct stat found = {};
    if (stat(prefix.c_str(), &found) != 0) return refuse_errno(prefix, errno);
    if (!S_ISDIR(found.st_mode)) return end;
  }
  return Refusal{403, std::string(path) + ": is a folder, not a program: name a file in it"};
}

}  // namespace

FileIdentity identity_of(const struct stat& file) {
  return {
      file.st_dev,  file.st_ino, file.st_size, nanoseconds(file.st_mtim), nanoseconds(file.st_ctim),
      file.st_mode, file.st_uid, file.st_gid};
}

Resolver::Resolver(const loop::Clock& clock, const std::vector<std::string>& roots,
                   HasInterpreter has_interpreter, std::size_t programs_max, RootLinks root_links)
    : clock_(clock),
      roots_(roots),
      has_interpreter_(std::move(has_interpreter)),
      programs_max_(programs_max),
      root_links_(root_links) {
  BRIDGE_ASSERT(programs_max > 0);
}

cgi::OrRefusal<Resolution> Resolver::resolve(std::string_view path) {
  if (auto refusal = refuse_spelling(path)) return *std::move(refusal);
  if (const Seen* seen = recall(path)) {
    return Resolution{seen->program, seen->file, seen->script,
                      std::string(path.substr(seen->script.size()))};
  }
  return look_up(path);
}

// The remembered program that a leading part of path names, if it is still the same file. A path
// can contain at most one regular file, so what follows a hit need not be checked.
const Resolver::Seen* Resolver::recall(std::string_view path) {
  for (std::size_t end = 1; end < path.size() && end <= longest_script_;) {
    end = std::min(path.find('/', end), path.size());
    const auto known = by_script_.find(path.substr(0, end));
    if (known == by_script_.end()) {
      ++end;
      continue;
    }
    const SeenList::iterator seen = known->second;
    if (!leads_to(seen->script, seen->file, seen->links)) {
      note_changes(*seen);
      forget(seen);
      return nullptr;
    }
    seen_.splice(seen_.begin(), seen_, seen);
    return &*seen;
  }
  return nullptr;
}

cgi::OrRefusal<Resolution> Resolver::look_up(std::string_view path) {
  const cgi::OrRefusal<std::size_t> script_bytes = find_file(path);
  if (!script_bytes) return script_bytes.refusal();
  const std::string script(path.substr(0, script_bytes.value()));
  Resolution found{.program = without_doubled_slashes(script),
                   .file = {},
                   .script = script,
                   .path_info = std::string(path.substr(script_bytes.value()))};
  std::optional<std::vector<LinkOnPath>> before;  // the links at the first check
  for (;;) {
    const base::TimePoint began = clock_.now();
    const PathWalk walk = walk_path(script);
    if (walk.error_number != 0) return refuse_errno(script, walk.error_number);
    if (auto refusal = refuse_place(script, walk)) return *std::move(refusal);
    struct stat file = {};
    if (lstat(walk.real.c_str(), &file) != 0) return refuse_errno(walk.real, errno);
    const bool by_name = may_run_by_name(walk);
    const std::chrono::nanoseconds so_long =
        began < restless_until_ ? std::chrono::nanoseconds(kRestless) : kStands;
    const std::int64_t young = by_name ? has_to_stand(walk.links, so_long, clock_.wall_ns()) : 0;
    if (young > 0 && !before && may_wait(began)) {
      before = walk.links;
      wait_for(young);
      continue;
    }
    const bool moved = before && walk.links != before;
    if (moved) restless_until_ = began + kRestless;
    const bool moves = moved || young > 0;
    found.file = {walk.real, identity_of(file), {}};
    if (by_name && !moves) {
      found.file.links = walk.links;
    } else {
      found.program = walk.real;
    }
    if (auto refusal = refuse_file(found.program, walk.real, file.st_mode)) {
      return *std::move(refusal);
    }
    remember(found, walk.links);
    return found;
  }
}

// A link above many programs is seen with each of them, but its change counts once.
void Resolver::note_changes(const Seen& seen) {
  const base::TimePoint now = clock_.now();
  std::erase_if(changes_, [now](const Change& change) { return change.seen < now - kRestless; });
  for (const LinkOnPath& known : seen.links) {
    const LinkOnPath link = look_at_link(known.path);
    const auto is_known = [&link](const Change& change) { return change.link == link; };
    if (link == known || std::any_of(changes_.begin(), changes_.end(), is_known)) continue;
    if (changes_.size() == kChangesKept) changes_.erase(changes_.begin());
    changes_.push_back({link, now});
    const auto of_it = [&link](const Change& change) { return change.link.path == link.path; };
    const auto often = std::count_if(changes_.begin(), changes_.end(), of_it);
    if (often >= kChangesMost) restless_until_ = now + kRestless;
  }
}

// The loop stands still in the meantime; whoever makes links must not be able to exploit that.
bool Resolver::may_wait(base::TimePoint now) {
  if (now < restless_until_) return false;
  std::erase_if(waits_, [now](base::TimePoint then) { return then < now - kLately; });
  if (waits_.size() >= kWaitsMost) return false;
  waits_.push_back(now);
  return true;
}

// What the roots promise: the real file must be inside.
std::optional<Refusal> Resolver::refuse_place(const std::string& script,
                                              const PathWalk& walk) const {
  if (roots_.contain(walk.real)) return std::nullopt;
  Refusal outside{403, script + ": " + walk.real + " is outside the roots"};
  const auto in_a_root = [this](const auto& link) { return lies_in_a_root(link); };
  if (root_links_ == RootLinks::stay_inside ||
      std::none_of(walk.links.begin(), walk.links.end(), in_a_root)) {
    return outside;
  }
  constexpr std::array<::uid_t, 1> kRoot{0};
  for (const LinkOnPath& link : walk.links) {
    if (only_changed_by(link.path, kRoot)) continue;
    outside.reason += ", and others than root can change the link " + link.path;
    return outside;
  }
  return std::nullopt;
}

bool Resolver::lies_in_a_root(const LinkOnPath& link) const {
  return roots_.contain(link.path);
}

// Whoever can write below a root may run anything anyway. But a link elsewhere may be a stranger's.
bool Resolver::may_run_by_name(const PathWalk& walk) const {
  const std::array<::uid_t, 2> own{0, ::geteuid()};
  return std::all_of(walk.links.begin(), walk.links.end(), [&](const LinkOnPath& link) {
    return lies_in_a_root(link) || only_changed_by(link.path, own);
  });
}

// May this file, whatever its path, be run as a program?
std::optional<Refusal> Resolver::refuse_file(const std::string& program, const std::string& path,
                                             mode_t mode) const {
  if (!S_ISREG(mode)) return Refusal{403, path + ": is " + kind_of(mode) + ", not a program"};
  if (has_interpreter_ && has_interpreter_(program)) return std::nullopt;
  // Its runner only reads it.
  if ((mode & 0111) == 0 && is_wasm_file(path)) return std::nullopt;
  // Any x bit: which of them counts depends on the user that the program will run as.
  if ((mode & 0111) == 0) return Refusal{403, path + ": is not executable (chmod +x)"};
  return std::nullopt;
}

void Resolver::remember(const Resolution& resolution, std::vector<LinkOnPath> links) {
  const auto known = by_script_.find(resolution.script);
  if (known != by_script_.end()) forget(known->second);
  if (seen_.size() == programs_max_) forget(std::prev(seen_.end()));
  seen_.push_front({resolution.script, resolution.program, resolution.file, std::move(links)});
  by_script_.emplace(seen_.front().script, seen_.begin());
  longest_script_ = std::max(longest_script_, resolution.script.size());
}

void Resolver::forget(SeenList::iterator seen) {
  by_script_.erase(seen->script);
  seen_.erase(seen);
}

}  // namespace router
