// Which connections of web servers are closed by the bridge, and how many it may have.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace policy {

// serving: a request on it is being answered, or something is still to be sent. unfinished: a
// request has begun, and its params have not come whole. idle: neither.
enum class ConnectionUse { serving, unfinished, idle };

struct ConnectionView {
  ConnectionUse use = ConnectionUse::serving;
  base::TimePoint since{};  // that it is so
};

struct ConnectionRules {
  std::size_t max = 1024;             // bridge.connections_max
  base::Duration patience{};          // bridge.params_timeout
  base::Duration at_rest_at_least{};  // before that an idle one may have a request on its way
};

// Indices of those to close now: unfinished ones that have used up their time; and if as many as
// may be are left even so, the longest idle of them, an eighth of all at most, so that others come
// in.
std::vector<std::size_t> connections_to_close(const std::vector<ConnectionView>& connections,
                                              const ConnectionRules& rules, base::TimePoint now);

// What needs descriptors of the bridge. workers_max 0: no limit was set.
struct DescriptorUsers {
  unsigned connections_max = 1;
  unsigned workers_max = 1;
  unsigned zygotes_max = 0;

  bool operator==(const DescriptorUsers&) const = default;
};

// The same, or each of them less by the same factor, so that all of it together fits into limit
// descriptors (RLIMIT_NOFILE): at a limit that is known requests wait, and beyond the kernel's they
// would fail. Never less than 4 connections and 1 worker.
DescriptorUsers fit_descriptors(std::size_t limit, const DescriptorUsers& asked);

}  // namespace policy
