#include "loop/path_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <utility>

namespace loop {
namespace {

// IN_ATTRIB reports a falling link count: this is how a file shows that it was replaced.
constexpr std::uint32_t kMoved = IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB;
constexpr std::uint32_t kWritten = IN_MODIFY | IN_CLOSE_WRITE;
// On a folder, IN_ATTRIB would also report the files in it.
constexpr std::uint32_t kFolderMoved = IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kAppears = IN_CREATE | IN_MOVED_TO;
constexpr int kLinksMax = 40;  // the kernel's limit (MAXSYMLINKS)
// Limits the retries if the path keeps changing during the walk; later changes are reported anyway.
constexpr int kLooksMax = 200;

struct Look {
  struct stat status = {};
  bool exists;

  explicit Look(const std::string& path) : exists(::lstat(path.c_str(), &status) == 0) {}
  bool same_as(const Look& other) const {
    return exists == other.exists && (!exists || (status.st_dev == other.status.st_dev &&
                                                  status.st_ino == other.status.st_ino));
  }
};

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

}  // namespace

// One walk along the path, as the kernel resolves it, which adds a watch to everything on the way.
class PathWatch::Walk {
 public:
  Walk(int inotify, const std::string& path) : inotify_(inotify) { put_in_front(path); }

  base::Status go() {
    for (int looks = 0; !names_.empty() && looks < kLooksMax; ++looks) {
      const std::string name = names_.front();
      if (name == "..") at_ = std::filesystem::path(at_).parent_path();
      if (name.empty() || name == "." || name == "..") {
        names_.pop_front();
        continue;
      }
      const base::Status stepped = step(at_ + (at_.ends_with('/') ? "" : "/") + name);
      if (!stepped || waits_) return stepped;
    }
    found_ = names_.empty();
    return base::Done{};
  }

  bool found() const { return found_; }
  std::string awaited() const { return names_.empty() ? std::string() : names_.front(); }

 private:
  // Advances only if the file that was seen is the one now watched.
  base::Status step(const std::string& path) {
    const Look seen(path);
    if (!seen.exists) return wait_in_folder(path);
    const bool is_link = S_ISLNK(seen.status.st_mode), is_folder = S_ISDIR(seen.status.st_mode);
    const bool is_last = names_.size() == 1 && !is_link;
    std::uint32_t events = is_folder ? kFolderMoved : kMoved;
    if (is_last && !is_folder) events |= kWritten;
    const int watch = add(path, events | IN_DONT_FOLLOW);
    const int error_number = errno;
    // A folder that may be entered but not read is passed without a watch.
    if (watch < 0 && error_number == ENOENT) return base::Done{};
    if (watch < 0 && !(is_folder && error_number == EACCES)) return cannot(path, error_number);
    if (!seen.same_as(Look(path))) return base::Done{};
    if (is_link) return follow(path);
    names_.pop_front();
    at_ = path;
    return base::Done{};
  }

  base::Status follow(const std::string& path) {
    const std::string target = link_target(path);
    if (target.empty()) return base::Done{};
    if (++links_ > kLinksMax) return cannot(path, ELOOP);
    names_.pop_front();
    if (target.front() == '/') at_ = "/";
    put_in_front(target);
    return base::Done{};
  }

  base::Status wait_in_folder(const std::string& path) {
    const int watch = add(at_, kAppears | kFolderMoved);
    // If the folder itself has gone meanwhile, the watches on the way to it report that.
    if (watch < 0 && errno != ENOENT) return cannot(at_, errno);
    waits_ = !Look(path).exists;
    return base::Done{};
  }

  int add(const std::string& path, std::uint32_t events) const {
    return ::inotify_add_watch(inotify_, path.c_str(), events | IN_MASK_ADD);
  }

  static base::Error cannot(const std::string& path, int error_number) {
    return base::errno_error("cannot watch " + path, error_number);
  }

  void put_in_front(const std::string& path) {
    std::deque<std::string> names;
    for (const auto& name : std::filesystem::path(path)) {
      if (name != "/") names.push_back(name.string());
    }
    names_.insert(names_.begin(), names.begin(), names.end());
  }

  const int inotify_;
  std::string at_ = "/";           // how far the walk has come, without links
  std::deque<std::string> names_;  // what remains of the path after at_
  int links_ = 0;
  bool found_ = false;
  bool waits_ = false;
};

PathWatch::PathWatch(Loop& loop, std::function<void(const base::Status&)> on_change)
    : loop_(loop), on_change_(std::move(on_change)) {}

PathWatch::~PathWatch() = default;

base::Status PathWatch::start(const std::string& path) {
  std::error_code ignored;
  path_ = std::filesystem::absolute(path, ignored).string();
  return arm();
}

// Uses a new inotify instance each time: this walk sees what the old one had yet to report.
base::Status PathWatch::arm() {
  events_.reset();
  inotify_ = base::UniqueFd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_) return base::errno_error("cannot watch " + path_, errno);
  Walk walk(inotify_.get(), path_);
  const base::Status walked = walk.go();
  if (!walked) {
    inotify_.reset();
    return walked;
  }
  found_ = walk.found();
  awaited_ = walk.awaited();
  events_ = std::make_unique<FdWatch>(loop_, inotify_.get(), [this](unsigned) { on_events(); });
  events_->ask(kReadable);
  return base::Done{};
}

void PathWatch::on_events() {
  const Heard heard = read_events();
  if (heard == Heard::nothing) return;
  const bool was_found = found_;
  const base::Status watching = heard == Heard::moved ? arm() : base::Status(base::Done{});
  // While the file is missing, only its appearance matters.
  if (was_found || found_ || !watching) on_change_(watching);
}

PathWatch::Heard PathWatch::read_events() {
  Heard heard = Heard::nothing;
  alignas(inotify_event) std::array<char, 16384> bytes;
  ssize_t got = 0;
  while ((got = ::read(inotify_.get(), bytes.data(), bytes.size())) > 0) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event;
      std::memcpy(&event, bytes.data() + at, sizeof event);
      const char* name = event.len > 0 ? bytes.data() + at + sizeof event : "";
      at += sizeof event + event.len;
      const bool appeared = (event.mask & kAppears) != 0;
      if (event.mask == IN_IGNORED || (appeared && awaited_ != name)) continue;
      const bool only_written = (event.mask & ~(kWritten | IN_ISDIR)) == 0;
      if (!only_written) heard = Heard::moved;
      if (heard == Heard::nothing) heard = Heard::written;
    }
  }
  return heard;
}

}  // namespace loop
