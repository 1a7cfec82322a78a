// Which system calls a program may make: the groups that operators name, and the filter for the
// kernel (seccomp(2), made by libseccomp).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sandbox {

// The names of what `sandbox.syscalls` allows. An entry is a call or a @group, with "~" in front to
// take it away; entries count in their order. A list that begins with "~" begins with all that is
// known. The error names an entry that is neither.
base::Result<std::set<std::string>> allowed_calls(const std::vector<std::string>& entries);

// The groups, without "@", and what is in one; empty if there is none of that name.
std::vector<std::string_view> group_names();
std::vector<std::string_view> calls_of_group(std::string_view group);

// The instructions, as the bytes of struct sock_filter. Other calls get EPERM. Whatever is allowed,
// a call for namespaces of one's own (clone, unshare, setns) is refused unless unshare is named by
// itself; a call that is newer than all that is known gets ENOSYS, so that libraries take the older
// way.
base::Result<std::string> filter_of(const std::vector<std::string>& entries);

}  // namespace sandbox
