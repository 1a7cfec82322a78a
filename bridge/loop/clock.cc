#include "loop/clock.h"

#include <time.h>

namespace loop {
namespace {

std::int64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

class SystemClock final : public Clock {
 public:
  base::TimePoint now() const override { return base::Clock::now(); }
  base::TimePoint measured_now() const override { return base::Clock::now(); }
  std::int64_t wall_ns() const override { return nanoseconds_of(CLOCK_REALTIME); }
  std::int64_t file_stamp_ns() const override { return nanoseconds_of(CLOCK_REALTIME_COARSE); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace loop
