// The states of a worker's life, how a request's program ended, and who hears of both.
#pragma once

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "message/channel_message.h"
#include "message/wire.h"

namespace worker {

// The life of a worker (the table is in README.md). idle: takes a request; it may still be
// resetting itself behind the one before, which then waits in its channel. resetting: the same, but
// it is to be checked before it takes another. checking: its zygote looks at it. ending: it serves
// nobody any more; the process is not gone yet.
enum class WorkerState { starting, idle, busy, resetting, checking, ending, gone };
std::string_view to_string(WorkerState state);
constexpr std::size_t kWorkerStates = 7;

// What a state may be followed by, as README.md's table has it; whatever else would happen is a
// fault of the bridge's. Resetting to idle and back is what speaks FastCGI only, which may close
// its connection between two requests.
constexpr std::array<std::array<bool, kWorkerStates>, kWorkerStates> kFollowing = [] {
  using enum WorkerState;
  std::array<std::array<bool, kWorkerStates>, kWorkerStates> table{};
  const auto allow = [&table](WorkerState from, std::initializer_list<WorkerState> next) {
    for (const WorkerState to : next) table[std::size_t(from)][std::size_t(to)] = true;
  };
  allow(starting, {idle, busy, gone});
  allow(idle, {busy, resetting, ending, gone});
  allow(busy, {idle, resetting, ending, gone});
  allow(resetting, {checking, idle, ending, gone});
  allow(checking, {idle, ending, gone});
  allow(ending, {gone});
  return table;
}();
constexpr bool may_follow(WorkerState from, WorkerState to) {
  return kFollowing[std::size_t(from)][std::size_t(to)];
}

// Behind a request, and not to be given another yet.
constexpr bool is_returning(WorkerState state) {
  return state == WorkerState::resetting || state == WorkerState::checking;
}

// How a request's program ended.
struct Ending {
  std::uint32_t app_status = 0;  // exit code, or 128 + signal
  std::string description;       // empty if it exited by itself
  // Used by the request and the children it waited for; by the process at its peak (0: not known).
  std::chrono::microseconds cpu{};
  std::uint64_t peak_kib = 0;
  bool incomplete = false;  // it went without a word in a protocol that has one for the end
};

// What END_REQUEST's appStatus says: the exit code, or 128 + the signal, as a shell has it.
inline std::uint32_t app_status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128u + static_cast<std::uint32_t>(WTERMSIG(wait_status));
  return static_cast<std::uint32_t>(WEXITSTATUS(wait_status));
}

// "exited with 2", "killed by signal 11 (Segmentation fault)".
inline std::string describe_end(int wait_status) {
  if (!WIFSIGNALED(wait_status)) {
    return "exited with " + std::to_string(WEXITSTATUS(wait_status));
  }
  const int signal_number = WTERMSIG(wait_status);
  return "killed by signal " + std::to_string(signal_number) + " (" + ::strsignal(signal_number) +
         ")";
}

// What a request's program put out before it ended.
struct Printed {
  bool output = true;
  bool errors = false;
};

// Beside enum retirement: it ended in the middle of a request, by _exit(), exec() or a signal.
constexpr std::uint32_t kRetiredLeft = RETIREMENTS;

class Worker;

// What its pool hears of a worker. All run on the loop; none may destroy the worker.
class WorkerOwner {
 public:
  virtual ~WorkerOwner() = default;

  virtual void on_ready(Worker& worker) = 0;  // starting → idle
  // The program of its request came to its own end, as done says: busy → idle, resetting or ending.
  // The request hears of it next.
  virtual void on_done(Worker& worker, const message::Received& done) = 0;
  // The answer to ask_whether_at_rest(); the worker may have a request by now.
  virtual void on_at_rest(Worker& worker) = 0;
  // resetting → checking: its zygote may look at it now.
  virtual void on_reset_over(Worker& worker) = 0;
  // Its channel ended in the middle of its request: it closed that, executes something else or is
  // about to be gone. Its request goes on.
  virtual void on_silent(Worker& worker) = 0;
  // It will serve no more, by its own word or because it died; retirement: enum retirement or
  // kRetiredLeft. Not told of a worker that was told to end, nor of one whose DONE said so.
  virtual void on_retired(Worker& worker, std::uint32_t retirement, const std::string& why) = 0;
  // It ends without having begun the request that it was given, whose on_ended will not be called:
  // another may take it.
  virtual void on_unbegun(Worker& worker) = 0;
  virtual void on_gone(Worker& worker) = 0;  // reaped, or lost before it was ever there
  virtual void on_note(Worker& worker, const message::Received& note) = 0;
};

}  // namespace worker
