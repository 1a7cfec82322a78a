#include "config/retired.h"

#include <algorithm>
#include <array>
#include <utility>

namespace config {
namespace {

using Retired = std::pair<std::string_view, std::string_view>;
constexpr std::array<Retired, 18> kRetired = {{
    {"captures.body_max", "the first 64KiB of a body are kept"},
    {"captures.per_minute", "60 captures are written in a minute at most"},
    {"captures.size", "captures.max limits them, and 16MiB altogether"},
    {"figures_max", "the figures of 1000 programs are kept"},
    {"pin.param", "use pin.header, with pin.from"},
    {"promote.max_error_delta", "it is 0.1 percentage points"},
    {"promote.max_latency_delta", "it is 25 per cent of the p95"},
    {"requests_per_connection_max", "it is 100"},
    {"response_head_max", "it is 64KiB"},
    {"sandbox.syscall_error", "a refused call gets EPERM"},
    {"shadow.answer_max", "answers of up to 512KiB are compared"},
    {"shadow.body_max", "requests with a body of up to 1MiB are run twice"},
    {"shadow.concurrent", "two second runs of a program are made at once"},
    {"shadow.differences", "the 20 newest are kept"},
    {"shadow.queue", "64 second runs of a program may wait"},
    {"slowlog.readers", "two stacks are read at once"},
    {"workers.kind", "min = max is static; min = 0 with spare = 0 is ondemand"},
    {"workers.recycle_spread", "it is 10 per cent"},
}};

}  // namespace

std::string_view what_replaced(std::string_view name) {
  const auto* found = std::ranges::find(kRetired, name, &Retired::first);
  return found == kRetired.end() ? std::string_view() : found->second;
}

}  // namespace config
