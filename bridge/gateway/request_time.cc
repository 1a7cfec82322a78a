#include "gateway/request_time.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/unique_fd.h"
#include "gateway/response_stream.h"

namespace gateway {
namespace {

// Time between the last close of a process that ends and its death.
constexpr base::Duration kFirstPause{5};
constexpr base::Duration kLongestPause{500};
// A worker that has just said that it is done sleeps, too. What it said before a look has been
// heard at the next one, because events come before timers.
constexpr base::Duration kAgain{1};

}  // namespace

After after_its_output(const ProcessLook& first, const ProcessLook& now, base::Duration waited) {
  if (now.is_exiting) return After::ends;
  const bool works = now.used - first.used >= kWorkAtEnd;
  const bool sleeps = now.is_asleep && waited >= kSleepAtEnd;
  return works || sleeps || waited >= kLongestEnd ? After::goes_on : After::may_end;
}

// Reads /proc/PID/stat after the name, which may contain anything: the state, the ninth word in all
// (the flags, with PF_EXITING), and the processor times, in ticks.
ProcessLook look_at_process(pid_t pid) {
  constexpr unsigned kExiting = 4;
  const base::UniqueFd file(
      ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t got = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (got <= 0) return {};
  text[got] = '\0';
  const char* behind_name = std::strrchr(text, ')');
  char state = 0;
  unsigned flags = 0;
  unsigned long user = 0, system = 0;
  if (behind_name == nullptr ||
      std::sscanf(behind_name + 1, " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %lu %lu", &state,
                  &flags, &user, &system) != 4) {
    return {};
  }
  static const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  return {.is_exiting = (flags & kExiting) != 0,
          .is_asleep = state == 'S' || state == 'T' || state == 't',
          .used = base::Duration((user + system) * 1000 / ticks_per_second)};
}

RequestTime::RequestTime(loop::Loop& loop, const config::ProgramSettings::Timeouts& timeouts,
                         Counts& counts, const ResponseStream& response, RequestTimeOwner& owner)
    : loop_(loop),
      timeouts_(timeouts),
      counts_(counts),
      response_(response),
      owner_(owner),
      pause_(kFirstPause),
      request_timer_(loop,
                     [this] {
                       owner_.on_too_long(fmt::format("not done after {} ms (timeouts.request)",
                                                      timeouts_.request.count()));
                     }),
      output_timer_(loop, [this] { watch_silence(); }),
      ending_timer_(loop, [this] { look_whether_it_ends(); }),
      background_timer_(loop, [this] {
        ++counts_.ended;
        owner_.on_background_too_long();
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
      std::chrono::duration_cast<base::Duration>(loop_.now() - response_.silent_since());
  if (silent < limit) return output_timer_.start(limit - silent);
  owner_.on_too_long(fmt::format("no output for {} ms (timeouts.output)", limit.count()));
}

void RequestTime::output_closed(std::function<pid_t()> pid) {
  pid_ = std::move(pid);
  closed_at_ = loop_.now();
  at_close_ = look_at_process(pid_());
  ending_timer_.start(pause_);
}

void RequestTime::look_whether_it_ends() {
  const auto waited = std::chrono::duration_cast<base::Duration>(loop_.now() - closed_at_);
  const ProcessLook now = look_at_process(pid_());
  if (after_its_output(at_close_, now, waited) == After::goes_on) {
    if (std::exchange(seems_to_go_on_, true)) return begin_background();
    return ending_timer_.start(kAgain);
  }
  seems_to_go_on_ = false;
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
  owner_.on_answered();
}

}  // namespace gateway
