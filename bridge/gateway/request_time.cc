#include "gateway/request_time.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/unique_fd.h"

namespace gateway {
namespace {

// Between the last close of a process that ends and its death.
constexpr base::Duration kFirstPause{5};
constexpr base::Duration kLongestPause{500};

}  // namespace

// The ninth word of /proc/PID/stat, behind the name, which may hold anything: PF_EXITING.
bool is_ending(pid_t pid) {
  constexpr unsigned kExiting = 4;
  const base::UniqueFd file(
      ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t got = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (got <= 0) return false;
  text[got] = '\0';
  const char* behind_name = std::strrchr(text, ')');
  unsigned flags = 0;
  if (behind_name == nullptr) return false;
  return std::sscanf(behind_name + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
         (flags & kExiting) != 0;
}

RequestTime::RequestTime(loop::Loop& loop, const config::ProgramSettings::Timeouts& timeouts,
                         Counts& counts, Events events)
    : timeouts_(timeouts),
      counts_(counts),
      events_(std::move(events)),
      pause_(kFirstPause),
      request_timer_(loop,
                     [this] {
                       events_.on_too_long(fmt::format("not done after {} ms (timeouts.request)",
                                                       timeouts_.request.count()));
                     }),
      output_timer_(loop, [this] { watch_silence(); }),
      ending_timer_(loop, [this] { look_whether_it_ends(); }),
      background_timer_(loop, [this] {
        ++counts_.ended;
        events_.on_background_too_long();
      }) {
  if (timeouts_.request.count() > 0) request_timer_.start(timeouts_.request);
  if (timeouts_.output.count() > 0) output_timer_.start(timeouts_.output);
}

RequestTime::~RequestTime() {
  if (in_background_) --counts_.now;
}

void RequestTime::watch_silence() {
  const base::Duration limit = timeouts_.output;
  const auto silent =
      std::chrono::duration_cast<base::Duration>(base::Clock::now() - events_.silent_since());
  if (silent < limit) return output_timer_.start(limit - silent);
  events_.on_too_long(fmt::format("no output for {} ms (timeouts.output)", limit.count()));
}

void RequestTime::output_closed(pid_t pid) {
  pid_ = pid;
  ending_timer_.start(pause_);
}

void RequestTime::look_whether_it_ends() {
  if (!is_ending(pid_)) return begin_background();
  pause_ = std::min(pause_ * 2, kLongestPause);
  ending_timer_.start(pause_);
}

void RequestTime::begin_background() {
  in_background_ = true;
  ++counts_.now;
  ++counts_.total;
  request_timer_.stop();
  output_timer_.stop();
  if (timeouts_.background.count() > 0) background_timer_.start(timeouts_.background);
  events_.on_answered();
}

}  // namespace gateway
