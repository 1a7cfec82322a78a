#include "modules/loaded_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace modules {
namespace {

constexpr std::string_view kGoneMark = " (deleted)";

// All zero for a file that does not exist, which differs from every file that did. For a link that
// leads nowhere, the link itself counts.
router::FileIdentity look_at(const std::string& path) {
  struct stat file;
  const bool is_place = path.size() > 1 && path.ends_with('/');
  const std::string name = path.substr(0, path.size() - (is_place ? 1 : 0));
  if (::stat(name.c_str(), &file) != 0 && ::lstat(name.c_str(), &file) != 0) return {};
  if (!is_place) return router::identity_of(file);
  return {.device = file.st_dev, .inode = file.st_ino, .mode = file.st_mode & S_IFMT};
}

// Differs from what is there, and from nothing.
constexpr router::FileIdentity kUnlikeAny{.mode = ~mode_t{0}};

// For a bridge under chroot, where a process in a sandbox has mounts of its own: the files that it
// has mapped are then named from the machine's root, not from the process's. Empty otherwise.
std::string root_of(pid_t pid) {
  std::error_code error;
  const auto root = std::filesystem::read_symlink(fmt::format("/proc/{}/root", pid), error);
  return error || root == "/" ? std::string() : root.string();
}

}  // namespace

void LoadedFiles::add(std::string_view paths) {
  const std::int64_t now_ns = clock_->wall_ns();
  while (!paths.empty()) {
    const std::string path(paths.substr(0, paths.find('\n')));
    paths.remove_prefix(std::min(path.size() + 1, paths.size()));
    if (!path.starts_with('/') || path == program_ || files_.size() >= kFilesMax) continue;
    router::FileIdentity identity = look_at(path);
    // A time in the future comes from another machine. (Since Linux 6.13 a file's time may be ahead
    // of the coarse clock, but not of the fine one.)
    const bool is_younger = launched_ns_ > 0 && identity.changed_ns >= launched_ns_;
    if (is_younger && identity.changed_ns <= now_ns) identity = kUnlikeAny;
    files_.emplace(path, identity);
  }
}

void LoadedFiles::add_mapped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  std::string maps(std::istreambuf_iterator<char>(file), {});
  const std::string root = root_of(pid);
  std::size_t at = 0;
  while (!root.empty() && (at = maps.find(' ' + root + '/', at)) != std::string::npos) {
    maps.erase(++at, root.size());
  }
  add_maps(maps);
}

void LoadedFiles::add_maps(std::string_view maps) {
  while (!maps.empty()) {
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    // "from-to perms offset dev inode   path": nothing before the path contains a slash.
    line.remove_prefix(std::min(line.find('/'), line.size()));
    if (!line.ends_with(kGoneMark)) {
      add(line);
      continue;
    }
    // The file was replaced after it was mapped, if another file has that name now. (Memory has
    // such names, too.)
    line.remove_suffix(kGoneMark.size());
    const std::string path(line);
    if (S_ISREG(look_at(path).mode)) files_.insert_or_assign(path, router::FileIdentity{});
  }
}

std::string LoadedFiles::changed() {
  if (clock_->now() < next_look_) return {};
  const base::TimePoint begin = clock_->measured_now();
  std::string found;
  for (const auto& [path, identity] : files_) {
    if (look_at(path) == identity) continue;
    found = path;
    break;
  }
  const auto took =
      std::chrono::duration_cast<base::Duration>(100 * (clock_->measured_now() - begin));
  next_look_ = clock_->now() + std::clamp<base::Duration>(took, kLeastInterval, kMostInterval);
  return found;
}

base::Duration ChangeDamper::life(base::TimePoint now) const {
  return is_started_ ? std::chrono::duration_cast<base::Duration>(now - started_) : kCalm;
}

void ChangeDamper::note_change(base::TimePoint now) {
  if (is_started_) thrown_away_ = life(now) < kCalm ? thrown_away_ + 1 : 0;
  is_started_ = false;
  changed_ = now;
}

void ChangeDamper::note_start(base::TimePoint now) {
  is_started_ = true;
  started_ = now;
  told_pause_ = {};
}

bool ChangeDamper::tell() {
  return std::exchange(told_pause_, pause()) != told_pause_;
}

base::Duration ChangeDamper::pause() const {
  if (thrown_away_ < 2) return base::Duration(0);
  const unsigned doublings = std::min(thrown_away_ - 2, 16U);
  return std::min<base::Duration>(kFirstPause * (1U << doublings), kLongestPause);
}

std::string ChangeDamper::describe() const {
  return fmt::format("its files change too fast: classic until {} ms without a change",
                     pause().count());
}

base::Duration ChangeDamper::wait(base::TimePoint now) const {
  const auto left = std::chrono::ceil<base::Duration>(changed_ + pause() - now);
  return std::max(left, base::Duration(0));
}

}  // namespace modules
