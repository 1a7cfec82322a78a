// How long a request may take until its answer is complete, and a program that goes on after that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "config/program_settings.h"
#include "loop/timer.h"

namespace gateway {

class ResponseStream;

// What /proc/PID/stat says about a process; all empty if it is gone.
struct ProcessLook {
  bool is_exiting = false;  // it has begun to end, and runs none of its program any more
  bool is_asleep = false;   // it waits for something, or is stopped
  base::Duration used{0};   // processor time, since its start
};
ProcessLook look_at_process(pid_t pid);

// What a program that closed its output does next: ending may take a while, and on a busy machine
// it may not have got to it yet. If it works or sleeps longer than an end takes, it goes on.
enum class After { ends, may_end, goes_on };
inline constexpr base::Duration kWorkAtEnd{20};  // of processor time
inline constexpr base::Duration kSleepAtEnd{10};
inline constexpr base::Duration kLongestEnd{1000};
// first: what was seen when the output was closed; now: what was seen `waited` later.
After after_its_output(const ProcessLook& first, const ProcessLook& now, base::Duration waited);

// What a request is told about its time. All run on the loop, and none may destroy the RequestTime.
class RequestTimeOwner {
 public:
  // timeouts.request or timeouts.output has expired. why says which: "not done after 1000 ms
  // (...)".
  virtual void on_too_long(const std::string& why) = 0;
  virtual void on_answered() = 0;  // the program goes on; called once
  virtual void on_background_too_long() = 0;

 protected:
  ~RequestTimeOwner() = default;
};

// Made when the program of a request starts, and owned by the request, which destroys it when the
// program has ended. The answer is complete when nobody can write to the program's standard output
// any more. Nearly always the program ends then, and its death says more than its silence: so its
// death is awaited as long as it is ending. A program that lives on goes on in the background.
class RequestTime {
 public:
  // How many programs go on after their answers now, have done so, and were ended for it.
  struct Counts {
    std::uint64_t now = 0, total = 0, ended = 0;
  };

  // All of these are borrowed and outlive it. response: says since when the program is silent.
  RequestTime(loop::Loop& loop, const config::ProgramSettings::Timeouts& timeouts, Counts& counts,
              const ResponseStream& response, RequestTimeOwner& owner);
  ~RequestTime();
  RequestTime(const RequestTime&) = delete;
  RequestTime& operator=(const RequestTime&) = delete;

  // Nobody can write to the standard output of this program any more. To be called once. pid: tells
  // the process that runs the program; -1: none does any more, and its end is about to be told.
  void output_closed(std::function<pid_t()> pid);

 private:
  void watch_silence();
  void look_whether_it_ends();
  void begin_background();

  const loop::Loop& loop_;
  const config::ProgramSettings::Timeouts& timeouts_;
  Counts& counts_;
  const ResponseStream& response_;
  RequestTimeOwner& owner_;
  std::function<pid_t()> pid_;
  base::TimePoint closed_at_;
  ProcessLook at_close_;
  bool seems_to_go_on_ = false, in_background_ = false;
  base::Duration pause_;
  loop::Timer request_timer_, output_timer_, ending_timer_, background_timer_;
};

}  // namespace gateway
