#include "router/resolver.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/assert.h"

namespace router {
namespace {

using cgi::Refusal;

// Two paths' worth: the script's and the request's path behind it.
constexpr std::size_t kPathBytesMax = 2 * PATH_MAX;

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

// The leading part of path, in whole segments, that is no folder: its length. What is asked of the
// file system is bounded by the folders that really exist.
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
  return Refusal{403, std::string(path) + ": is a folder, not a program"};
}

}  // namespace

FileIdentity identity_of(const struct stat& file) {
  return {
      file.st_dev,  file.st_ino, file.st_size, nanoseconds(file.st_mtim), nanoseconds(file.st_ctim),
      file.st_mode, file.st_uid, file.st_gid};
}

Resolver::Resolver(const std::vector<std::string>& roots, HasInterpreter has_interpreter,
                   std::size_t programs_max)
    : roots_(roots), has_interpreter_(std::move(has_interpreter)), programs_max_(programs_max) {
  BRIDGE_ASSERT(programs_max > 0);
}

cgi::OrRefusal<Resolution> Resolver::resolve(std::string_view path) {
  if (auto refusal = refuse_spelling(path)) return *std::move(refusal);
  if (const Seen* seen = recall(path)) {
    return Resolution{seen->program, seen->script, std::string(path.substr(seen->script.size())),
                      seen->identity};
  }
  cgi::OrRefusal<Resolution> found = look_up(path);
  if (found) remember(found.value());
  return found;
}

// The remembered program that a leading part of path names, if it is still the same file. One
// regular file at most can be on a path, so what lies behind a hit needs no look.
const Resolver::Seen* Resolver::recall(std::string_view path) {
  for (std::size_t end = 1; end < path.size() && end <= longest_script_;) {
    end = std::min(path.find('/', end), path.size());
    const auto known = by_script_.find(path.substr(0, end));
    if (known == by_script_.end()) {
      ++end;
      continue;
    }
    const SeenList::iterator seen = known->second;
    struct stat now = {};
    if (stat(seen->script.c_str(), &now) != 0 || identity_of(now) != seen->identity) {
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
  std::string script(path.substr(0, script_bytes.value()));

  char real_path[PATH_MAX];
  if (!realpath(script.c_str(), real_path)) return refuse_errno(script, errno);
  if (!roots_.contain(real_path)) {
    return Refusal{403, script + ": " + real_path + " is outside the roots"};
  }
  struct stat file = {};
  if (stat(real_path, &file) != 0) return refuse_errno(real_path, errno);
  if (auto refusal = refuse_file(real_path, file.st_mode)) return *std::move(refusal);
  return Resolution{real_path, std::move(script), std::string(path.substr(script_bytes.value())),
                    identity_of(file)};
}

// May this file, whatever its path, be run as a program?
std::optional<Refusal> Resolver::refuse_file(const std::string& path, mode_t mode) const {
  if (!S_ISREG(mode)) return Refusal{403, path + ": is " + kind_of(mode) + ", not a program"};
  if (has_interpreter_ && has_interpreter_(path)) return std::nullopt;
  // Any x bit: which of them counts depends on the user that the program will run as.
  if ((mode & 0111) == 0) return Refusal{403, path + ": is not executable"};
  return std::nullopt;
}

void Resolver::remember(const Resolution& resolution) {
  const auto known = by_script_.find(resolution.script);
  if (known != by_script_.end()) forget(known->second);
  if (seen_.size() == programs_max_) forget(std::prev(seen_.end()));
  seen_.push_front({resolution.script, resolution.program, resolution.identity});
  by_script_.emplace(seen_.front().script, seen_.begin());
  longest_script_ = std::max(longest_script_, resolution.script.size());
}

void Resolver::forget(SeenList::iterator seen) {
  by_script_.erase(seen->script);
  seen_.erase(seen);
}

}  // namespace router
