// What can be seen of a process from outside at little cost.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace upstream {

// What a request may have changed permanently in its process.
struct ProcessMarks {
  int priority = 0;
  pid_t group = 0;
  pid_t leader = 0;  // its session id

  bool operator==(const ProcessMarks&) const = default;
};

ProcessMarks marks_of(pid_t pid);

// The processor time that it has used so far, including its threads but not its children; 0 if it
// is gone.
std::chrono::nanoseconds cpu_time_of(pid_t pid);

}  // namespace upstream
