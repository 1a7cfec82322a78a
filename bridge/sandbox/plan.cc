#include "sandbox/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/sched.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace sandbox {
namespace {

// The folders that private_tmp makes new: also the one where shared memory has its names.
constexpr std::array<std::string_view, 3> kPrivateFolders = {"/tmp", "/var/tmp", "/dev/shm"};

// What stays read-only even if /proc itself may be written to: it concerns the whole machine.
constexpr std::array<std::string_view, 5> kKernelFiles = {"/proc/sys", "/proc/sysrq-trigger",
                                                          "/proc/irq", "/proc/bus", "/proc/fs"};

// With these, a process running as root could undo the rest of the sandbox.
constexpr std::array kDropped = {CAP_SYS_ADMIN,
                                 CAP_SYS_PTRACE,
                                 CAP_SYS_MODULE,
                                 CAP_SYS_RAWIO,
                                 CAP_SYS_BOOT,
                                 CAP_SYS_TIME,
                                 CAP_SYS_CHROOT,
                                 CAP_SYS_PACCT,
                                 CAP_SYS_TTY_CONFIG,
                                 CAP_MKNOD,
                                 CAP_NET_ADMIN,
                                 CAP_NET_RAW,
                                 CAP_BPF,
                                 CAP_PERFMON,
                                 CAP_CHECKPOINT_RESTORE,
                                 CAP_MAC_ADMIN,
                                 CAP_MAC_OVERRIDE,
                                 CAP_AUDIT_CONTROL,
                                 CAP_AUDIT_READ,
                                 CAP_AUDIT_WRITE,
                                 CAP_SYSLOG,
                                 CAP_WAKE_ALARM,
                                 CAP_BLOCK_SUSPEND,
                                 CAP_SETFCAP,
                                 CAP_LINUX_IMMUTABLE,
                                 CAP_DAC_READ_SEARCH};

// From Landlock's versions (linux/landlock.h of Debian 12 knows only the third).
enum class Scope : std::uint64_t { abstract_socket = 1, signal = 2 };
constexpr unsigned kLandlockLeast = 2;  // the first one that allows moving files to other folders
constexpr unsigned kTruncateSince = 3, kScopeSince = 6;
constexpr std::uint64_t kWriteFile = 1 << 1, kTruncate = 1 << 14;
// Removing files, making files of each kind, and moving them to another folder.
constexpr std::uint64_t kChangeFolder = 0x3ff << 4;
// If Landlock need not control files, something has to be named all the same, or the first versions
// create no domain: no program may make a disk anyway. Moving files is refused unless it is
// allowed.
constexpr std::uint64_t kMakeBlockDevice = 1 << 11, kMove = 1 << 13;

bool is_within(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

bool is_private(std::string_view path) {
  return std::ranges::any_of(kPrivateFolders, [&](auto folder) { return is_within(path, folder); });
}

// Places that are put back after the new root is in place, parents before children.
struct Given {
  std::string path;
  std::uint64_t how;
};

std::vector<Given> given_back(const Wish& wish, const Place& place) {
  std::vector<Given> given;
  if (wish.private_tmp) {
    for (const std::string& path : place.kept) {
      if (!is_private(path)) continue;
      const std::uint64_t closed = wish.read_only ? STEP_READ_ONLY : 0;
      given.push_back({path, STEP_MAKE_FOLDER | closed});
    }
  }
  for (const std::string& path : wish.write) {
    const bool place_is_new = wish.private_tmp && is_private(path);
    given.push_back({path, place_is_new ? std::uint64_t{STEP_MAKE_FOLDER} : 0});
  }
  std::ranges::stable_sort(given, {}, [](const Given& one) { return one.path.size(); });
  return given;
}

void add_mounts(StepList& steps, const Wish& wish, const Place& place) {
  const std::vector<Given> given = given_back(wish, place);
  steps.add(STEP_PRIVATE);
  for (std::size_t i = 0; i < given.size(); ++i) {
    steps.add_at(STEP_TAKE, given[i].path, i);
  }
  steps.add(STEP_ROOT, wish.read_only ? MOUNT_ATTR_RDONLY : 0);
  if (wish.private_tmp) {
    for (const std::string_view folder : kPrivateFolders) {
      steps.add_at(STEP_TMPFS, folder, 0, STEP_OPTIONAL,
                   fmt::format("mode=1777,size={}", wish.tmp_size));
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    steps.add_at(STEP_PUT, given[i].path, i, given[i].how);
    if (given[i].path != "/proc") continue;
    for (const std::string_view path : kKernelFiles) {
      steps.add_at(STEP_CLOSE_OFF, path, 0, STEP_OPTIONAL);
    }
  }
}

std::uint64_t namespaces_of(const Wish& wish) {
  std::uint64_t flags = 0;
  if (wish.read_only || wish.private_tmp) flags |= CLONE_NEWNS;
  if (!wish.network) flags |= CLONE_NEWNET;
  return flags;
}

void add_rules(StepList& steps, const Wish& wish, const Ways& ways) {
  const unsigned version = ways.landlock;
  const std::uint64_t file = kWriteFile | (version >= kTruncateSince ? kTruncate : 0);
  const std::uint64_t folder = file | kChangeFolder;
  std::uint64_t scoped = version >= kScopeSince ? std::uint64_t(Scope::signal) : 0;
  if (scoped != 0 && !wish.network) scoped |= std::uint64_t(Scope::abstract_socket);
  steps.add(STEP_LANDLOCK, wish.read_only ? folder : kMakeBlockDevice | kMove, scoped);
  if (!wish.read_only) return steps.add_at(STEP_ALLOW, "/", kMove);
  steps.add_at(STEP_ALLOW, "/dev", file, file);
  if (wish.private_tmp && ways.namespaces) {
    for (const std::string_view path : kPrivateFolders) {
      steps.add_at(STEP_ALLOW, path, folder, file);
    }
  }
  for (const std::string& path : wish.write) steps.add_at(STEP_ALLOW, path, folder, file);
}

bool uses_landlock(const Wish& wish, const Ways& ways) {
  return wish.landlock && ways.landlock >= kLandlockLeast;
}

}  // namespace

bool wants_namespaces(const Wish& wish) {
  return namespaces_of(wish) != 0;
}

std::vector<std::string> not_held(const Wish& wish, const Ways& ways) {
  std::vector<std::string> names;
  if (ways.namespaces) return names;
  if (wish.read_only && !uses_landlock(wish, ways)) names.emplace_back("read_only");
  if (wish.private_tmp) names.emplace_back("private_tmp");
  return names;
}

std::string in_words(const Wish& wish, const Ways& ways) {
  std::vector<std::string> words;
  const bool landlock = uses_landlock(wish, ways);
  if (wish.read_only && (ways.namespaces || landlock)) {
    const char* by = !landlock ? "mounts" : ways.namespaces ? "mounts, Landlock" : "Landlock alone";
    words.push_back(fmt::format("read_only ({})", by));
  }
  if (wish.private_tmp && ways.namespaces) words.emplace_back("private_tmp");
  if (!wish.network) {
    words.push_back(fmt::format("no network ({})", ways.namespaces ? "namespace" : "filter"));
  }
  if (!wish.syscalls.empty()) words.emplace_back("syscalls (filter)");
  words.emplace_back("no_new_privs");
  if (landlock) words.push_back(fmt::format("Landlock {}", ways.landlock));
  if (wish.landlock && !landlock) words.emplace_back("no Landlock here");
  if (landlock && ways.landlock < kScopeSince) words.back() += " (which does not rule signals)";
  return fmt::format("{}", fmt::join(words, ", "));
}

StepList to_make(const Wish& wish, const Place& place) {
  StepList steps;
  const std::uint64_t namespaces = namespaces_of(wish);
  steps.add(STEP_UNSHARE, namespaces | (place.root ? 0 : CLONE_NEWUSER));
  if (!place.root) steps.add(STEP_MAP_IDS, place.uid, place.gid);
  if ((namespaces & CLONE_NEWNS) != 0) add_mounts(steps, wish, place);
  if (!wish.network) steps.add(STEP_LOOPBACK);
  steps.add(STEP_READY);
  return steps;
}

StepList to_enter(const Wish& wish, const Place& place, const Ways& ways, const NamespaceFds& fds,
                  const std::vector<std::string>& filters) {
  StepList steps;
  const auto join = [&](int fd, std::uint64_t kind) {
    if (fd >= 0) steps.add(STEP_JOIN, static_cast<std::uint64_t>(fd), kind);
  };
  join(fds.users, CLONE_NEWUSER);
  join(fds.network, CLONE_NEWNET);
  join(fds.mounts, CLONE_NEWNS);
  if (fds.mounts >= 0) steps.add(STEP_CHANGE_ROOT, static_cast<std::uint64_t>(fds.root));
  if (uses_landlock(wish, ways)) add_rules(steps, wish, ways);
  if (place.root || fds.users >= 0) {
    std::uint64_t dropped = 0;
    for (const int capability : kDropped) dropped |= std::uint64_t{1} << capability;
    steps.add(STEP_DROP_CAPABILITIES, dropped);
  }
  steps.add(STEP_BECOME);
  steps.add(STEP_NO_NEW_PRIVILEGES);
  if (uses_landlock(wish, ways)) steps.add(STEP_ENFORCE);
  for (const std::string& filter : filters) steps.add(STEP_FILTER, 0, 0, filter);
  return steps;
}

}  // namespace sandbox
