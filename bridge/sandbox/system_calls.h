// Which system calls a program may make: the groups that operators name, and the filter for the
// kernel (seccomp(2), made by libseccomp).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sandbox {

// The names of the calls that `sandbox.syscalls` allows. An entry is a call or a @group; with "~"
// in front it removes them; entries apply in order. A list that begins with "~" starts from all
// known calls. The error names an entry that is neither.
base::Result<std::set<std::string>> allowed_calls(const std::vector<std::string>& entries);

// The groups' names, without "@"; and what is in a group, empty if there is no group of that name.
std::vector<std::string_view> group_names();
std::vector<std::string_view> calls_of_group(std::string_view group);

// Returns the instructions, as the bytes of struct sock_filter. Calls that are not allowed get
// EPERM. Whatever is allowed, a call that makes or enters namespaces (clone, unshare, setns) is
// refused unless unshare is named itself; a call newer than all known calls gets ENOSYS, so that
// libraries fall back to the older way.
base::Result<std::string> filter_of(const std::vector<std::string>& entries);

}  // namespace sandbox
