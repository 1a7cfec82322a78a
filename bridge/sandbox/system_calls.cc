#include "sandbox/system_calls.h"

#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <seccomp.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/unique_fd.h"
#include "sandbox/filter.h"

namespace sandbox {
namespace {

// Above the numbers of all calls that libseccomp knows; the next kNewer numbers get ENOSYS.
constexpr int kNumbers = 640;
constexpr int kNewer = 48;
constexpr std::uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x80;  // time
constexpr std::uint64_t kUserModeOnly = 1;  // UFFD_USER_MODE_ONLY

std::string name_of(int number) {
  char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  const std::string text = name == nullptr ? "" : name;
  std::free(name);
  return text;
}

bool is_known(const std::string& name) {
  return seccomp_syscall_resolve_name(name.c_str()) != __NR_SCMP_ERROR;
}

std::set<std::string> all_known() {
  std::set<std::string> names;
  for (int number = 0; number < kNumbers; ++number) {
    if (std::string name = name_of(number); !name.empty()) names.insert(std::move(name));
  }
  return names;
}

base::Result<std::vector<std::string>> calls_of(const std::string& entry) {
  if (!entry.starts_with('@')) {
    if (is_known(entry)) return std::vector<std::string>{entry};
    return base::Error{fmt::format("no system call is called \"{}\"", entry)};
  }
  const auto calls = calls_of_group(std::string_view(entry).substr(1));
  if (calls.empty())
    return base::Error{fmt::format("no group of system calls is called \"{}\"", entry)};
  return std::vector<std::string>(calls.begin(), calls.end());
}

scmp_arg_cmp first_argument(scmp_compare compare, std::uint64_t a, std::uint64_t b) {
  return {.arg = 0, .op = compare, .datum_a = a, .datum_b = b};
}

// Returns 0 or -errno. Calls that exist only on other processors are ignored.
int allow(scmp_filter_ctx filter, const std::string& name, bool namespaces) {
  const int number = seccomp_syscall_resolve_name(name.c_str());
  if (number < 0) return 0;
  if (name == "userfaultfd") {
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1,
                            first_argument(SCMP_CMP_MASKED_EQ, kUserModeOnly, kUserModeOnly));
  }
  if (namespaces) return seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
  if (name == "unshare" || name == "setns") return 0;
  // Its flags are in memory, where no filter can look; after ENOSYS the C library calls clone().
  if (name == "clone3") return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
  if (name == "clone") {
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1,
                            first_argument(SCMP_CMP_MASKED_EQ, kNamespaces, 0));
  }
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
}

}  // namespace

base::Result<std::set<std::string>> allowed_calls(const std::vector<std::string>& entries) {
  std::set<std::string> allowed;
  if (!entries.empty() && entries.front().starts_with('~')) allowed = all_known();
  for (const std::string& entry : entries) {
    const bool takes_away = entry.starts_with('~');
    auto calls = calls_of(entry.substr(takes_away ? 1 : 0));
    if (!calls) return calls.error();
    for (std::string& call : calls.value()) {
      if (takes_away) allowed.erase(call);
      if (!takes_away) allowed.insert(std::move(call));
    }
  }
  return allowed;
}

base::Result<std::string> filter_of(const std::vector<std::string>& entries) {
  const auto allowed = allowed_calls(entries);
  if (!allowed) return allowed.error();
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return base::Error{"sandbox: cannot make a filter: no memory"};
  // Makes a search tree instead of a walk through about 300 comparisons, for kernels that keep no
  // table of what is always allowed (before Linux 5.11). The program's filter stays until the
  // program ends.
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  const bool namespaces = std::find(entries.begin(), entries.end(), "unshare") != entries.end();
  for (const std::string& name : allowed.value()) {
    if (const int failure = allow(filter.get(), name, namespaces); failure != 0) {
      return base::errno_error("sandbox: cannot allow " + name, -failure);
    }
  }
  // What cgibridge-step-down still has to do, and what every program does.
  for (const char* name : {"execve", "exit", "exit_group", "write"}) {
    (void)seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, seccomp_syscall_resolve_name(name), 0);
  }
  int known = kNumbers;
  while (known > 0 && name_of(known).empty()) --known;
  for (int number = known + 1; number <= known + kNewer; ++number) {
    (void)seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), number, 0);
  }
  return instructions_of(filter);
}

}  // namespace sandbox
