#include "limits/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace limits {
namespace {

struct Kept {
  unsigned number;
  const char* name;
};

// setuid and setgid are not among them: cgibridge-step-down gets them by its exec().
constexpr std::array kKept = {
    Kept{CAP_KILL, "kill"},              // to end other users' programs when their time is up
    Kept{CAP_CHOWN, "chown"},            // to give these programs their standard streams
    Kept{CAP_SYS_PTRACE, "sys_ptrace"},  // to see which libraries their zygotes have loaded
    Kept{CAP_DAC_READ_SEARCH, "dac_read_search"},  // to find programs in folders closed to others
    Kept{CAP_SYS_RESOURCE, "sys_resource"},        // to set limits above the bridge's own
};

using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

bool read_own(Sets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capget, &header, sets.data()) == 0;
}

bool write_own(const Sets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

bool has(const Sets& sets, unsigned capability) {
  return (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

}  // namespace

bool may_change_users() {
  Sets sets{};
  return ::geteuid() == 0 && read_own(sets) && has(sets, CAP_SETUID) && has(sets, CAP_SETGID);
}

std::string drop_privileges() {
  // Ambient capabilities would pass to every program.
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L);
  if (::geteuid() != 0) return "not started as root: all programs run as the bridge's user";
  Sets sets{};
  if (!read_own(sets)) return std::string("keeps its capabilities: capget: ") + ::strerror(errno);
  // What is permitted stays: any exec() of root's brings it back anyway, and where an exec() adds
  // to the permitted set, the kernel forgets which signal the program gets when the bridge dies.
  Sets kept{};
  std::string names;
  for (std::size_t i = 0; i < sets.size(); ++i) kept[i].permitted = sets[i].permitted;
  for (const Kept& one : kKept) {
    if (!has(sets, one.number)) continue;
    kept[CAP_TO_INDEX(one.number)].effective |= CAP_TO_MASK(one.number);
    names += std::string(names.empty() ? "" : ", ") + one.name;
  }
  if (!write_own(kept)) return std::string("keeps its capabilities: capset: ") + ::strerror(errno);
  return "started as root: of its capabilities it keeps " + (names.empty() ? "none" : names);
}

Raised::Raised(unsigned capability) : capability_(capability) {
  Sets sets{};
  if (!read_own(sets) || has(sets, capability)) return;
  sets[CAP_TO_INDEX(capability)].effective |= CAP_TO_MASK(capability);
  raised_ = write_own(sets);
}

Raised::~Raised() {
  Sets sets{};
  if (!raised_ || !read_own(sets)) return;
  sets[CAP_TO_INDEX(capability_)].effective &= ~CAP_TO_MASK(capability_);
  write_own(sets);
}

}  // namespace limits
