// Which connections of web servers the bridge closes, and how many it may have.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace policy {

// serving: a request on it is being answered, or something is still to be sent. unfinished: a
// request has begun, but its params are not complete yet. idle: neither.
enum class ConnectionUse { serving, unfinished, idle };

struct ConnectionView {
  ConnectionUse use = ConnectionUse::serving;
  base::TimePoint since{};  // when this use began
};

struct ConnectionRules {
  std::size_t max = 1024;             // bridge.connections_max
  base::Duration patience{};          // bridge.params_timeout
  base::Duration at_rest_at_least{};  // until then a request may be on its way
};

// Indices of the connections to close now: unfinished ones that have used up their time and, if
// max are still left after that, those that have been idle longest, at most an eighth of all, so
// that new ones can be accepted.
std::vector<std::size_t> connections_to_close(const std::vector<ConnectionView>& connections,
                                              const ConnectionRules& rules, base::TimePoint now);

// What needs descriptors in the bridge. workers_max 0: no limit was set.
struct DescriptorUsers {
  unsigned connections_max = 1;
  unsigned workers_max = 1;
  unsigned zygotes_max = 0;

  bool operator==(const DescriptorUsers&) const = default;
};

// Returns asked, or all its numbers reduced by the same factor, so that everything together fits
// into limit descriptors (RLIMIT_NOFILE): at a limit that we know, requests wait; at the kernel's
// they would fail. Never less than 4 connections and 1 worker. Workers without a limit get what the
// others leave, if that is enough for one of each zygote.
DescriptorUsers fit_descriptors(std::size_t limit, const DescriptorUsers& asked);
// Whether somebody gets less than was asked for: a limit for those that had none is not less.
bool is_less(const DescriptorUsers& fitting, const DescriptorUsers& asked);

}  // namespace policy
