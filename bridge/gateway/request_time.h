// How long a request may take: until its answer is whole, and a program that goes on behind it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "config/program_settings.h"
#include "loop/timer.h"

namespace gateway {

// What /proc/PID/stat says of a process; of one that is gone, nothing.
struct ProcessLook {
  bool is_exiting = false;  // it has begun to end, so that it runs nothing of its program any more
  bool is_asleep = false;   // it waits for something, or was stopped
  base::Duration used{0};   // of processor time, since its start
};
ProcessLook look_at_process(pid_t pid);

// What a program does that closed its output: it may take a while until it ends, and on a busy
// machine has not come to it yet. One that works or sleeps longer than an end takes goes on.
enum class After { ends, may_end, goes_on };
inline constexpr base::Duration kWorkAtEnd{20};  // of processor time
inline constexpr base::Duration kSleepAtEnd{10};
inline constexpr base::Duration kLongestEnd{1000};
// first is the look when the output was closed, now is that after so long.
After after_its_output(const ProcessLook& first, const ProcessLook& now, base::Duration waited);

// Made when the program of a request starts, and owned by the request, which destroys it when the
// program has ended. Its answer is whole when nobody writes to its standard output any more. Nearly
// always that is the end of the program, of which its death says more than its silence: so that is
// waited for as long as the process is ending. One that lives on does so in the background.
class RequestTime {
 public:
  // All run on the loop, and none may destroy this.
  struct Events {
    // timeouts.request or timeouts.output is over: why says which, "not done after 1000 ms (...)".
    std::function<void(const std::string& why)> on_too_long;
    std::function<void()> on_answered;  // the program goes on; told once
    std::function<void()> on_background_too_long;
    // Since when the program has been silent by its own doing.
    std::function<base::TimePoint()> silent_since;
  };

  // How many programs go on behind their answers now, have done so far, and were ended for it.
  struct Counts {
    std::uint64_t now = 0, total = 0, ended = 0;
  };

  // timeouts and counts are borrowed and outlive it.
  RequestTime(loop::Loop& loop, const config::ProgramSettings::Timeouts& timeouts, Counts& counts,
              Events events);
  ~RequestTime();
  RequestTime(const RequestTime&) = delete;
  RequestTime& operator=(const RequestTime&) = delete;

  // Nobody writes to the standard output of this program any more. Once.
  void output_closed(pid_t pid);

 private:
  void watch_silence();
  void look_whether_it_ends();
  void begin_background();

  const loop::Loop& loop_;
  const config::ProgramSettings::Timeouts& timeouts_;
  Counts& counts_;
  const Events events_;
  pid_t pid_ = -1;
  base::TimePoint closed_at_;
  ProcessLook at_close_;
  bool in_background_ = false;
  base::Duration pause_;
  loop::Timer request_timer_, output_timer_, ending_timer_, background_timer_;
};

}  // namespace gateway
