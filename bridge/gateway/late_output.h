// What is still written after a program has ended: by others that have its standard output.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace gateway {

// A program may leave a filter to write its answer (`exec > >(tr a-z A-Z)`, open STDOUT, "|gzip"),
// which needs a moment longer than the program itself; other web servers wait for as long as
// anybody has the pipe. But a process that goes on in the background for hours has it as well. So
// the wait is for output that keeps coming, and not for long.
class LateOutput {
 public:
  // How long nothing may come, and how long it may take in all, once what was in the pipe at the
  // program's end has been read.
  static constexpr std::chrono::milliseconds kQuiet{250};
  static constexpr std::chrono::seconds kMost{10};

  // Who has the pipe besides us: perhaps anybody, or certainly only the program's worker, which
  // keeps it for its next request.
  enum class Writers { anybody, none };

  // now: the program's end.
  LateOutput(base::TimePoint now, Writers writers) : since_(now), writers_(writers) {}

  bool may_come() const { return writers_ == Writers::anybody; }

  // How much of the output has to be read to have all that was in the pipe at the program's end.
  // Set only if one read was not enough; otherwise nothing is due.
  bool knows_due() const { return due_ > 0; }
  void set_due(std::uint64_t due) { due_ = due; }

  // Whether to read on: read is how much of the output was read so far.
  bool may_go_on(base::TimePoint now, std::uint64_t read) {
    if (read < due_) since_ = now;
    return now - since_ < kMost;
  }

 private:
  base::TimePoint since_;
  std::uint64_t due_ = 0;
  Writers writers_;
};

}  // namespace gateway
