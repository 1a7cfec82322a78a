// The states of a worker's life, how a request's program ended, and what is reported about both.
#pragma once

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "message/channel_message.h"
#include "message/wire.h"

namespace worker {

// The life of a worker (the table is in README.md). idle: takes a request; it may still be
// resetting itself after the previous one, and then the new one waits in its channel. resetting:
// the same, but it is to be checked before it takes another request. checking: its zygote compares
// it. ending: it serves nobody any more, but the process is not gone yet.
enum class WorkerState { starting, idle, busy, resetting, checking, ending, gone };
std::string_view to_string(WorkerState state);
constexpr std::size_t kWorkerStates = 7;

// Which states may follow a state, as in README.md's table; any other transition is a bug in the
// bridge. Only workers that speak FastCGI go from resetting to idle and back, because they may
// close their connection between two requests.
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

// The worker has finished a request and must not be given another one yet.
constexpr bool is_returning(WorkerState state) {
  return state == WorkerState::resetting || state == WorkerState::checking;
}

// How a request's program ended.
struct Ending {
  std::uint32_t app_status = 0;  // exit code, or 128 + signal
  std::string description;       // empty if it exited by itself
  // cpu: used by the request and the children it waited for; peak_kib: the process's peak (0: not
  // known).
  std::chrono::microseconds cpu{};
  std::uint64_t peak_kib = 0;
  bool incomplete = false;  // it ended without the end message that its protocol has
  // Its worker keeps the descriptors 0, 1 and 2, which nobody else has, for another request without
  // a body: message/wire.h.
  bool keeps_streams = false;
};

// The value of END_REQUEST's appStatus: the exit code, or 128 + the signal, as in a shell.
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

// What a request's program wrote before it ended.
struct Printed {
  bool output = true;
  bool errors = false;
  // If the worker keeps the program's ends, and all that was in the pipes has been read: ours, of
  // its standard output and standard error.
  base::FdPair kept = {};
};

// In addition to enum retirement: it ended in the middle of a request, by _exit(), exec() or a
// signal.
constexpr std::uint32_t kRetiredLeft = RETIREMENTS;

class Worker;

// What its pool is told about a worker. All run on the loop; none may destroy the worker.
class WorkerOwner {
 public:
  virtual void on_ready(Worker& worker) = 0;  // starting → idle
  // The program of its request ended by itself, as done describes: busy → idle, resetting or
  // ending. on_ended() follows, unless the request was forgotten.
  virtual void on_done(Worker& worker, const message::Received& done) = 0;
  // The request that it was given is over: at its `done`, or with its death if that comes first.
  // Called once for a request, not after on_unbegun() or Worker::forget_request().
  virtual void on_ended(Worker& worker, const Ending& ending) = 0;
  // The answer to ask_whether_at_rest(); the worker may already have a request again.
  virtual void on_at_rest(Worker& worker) = 0;
  // resetting → checking: its zygote may compare it now.
  virtual void on_reset_over(Worker& worker) = 0;
  // Its channel ended in the middle of its request: it closed the channel, executes something else,
  // or is about to be gone. Its request goes on.
  virtual void on_silent(Worker& worker) = 0;
  // It will serve no more, because it said so or died. retirement: enum retirement or kRetiredLeft.
  // Not called for a worker that was told to end, nor for one whose DONE said so.
  virtual void on_retired(Worker& worker, std::uint32_t retirement, const std::string& why) = 0;
  // It ends without having begun the request that it was given, for which on_ended() will not be
  // called: another worker may take it.
  virtual void on_unbegun(Worker& worker) = 0;
  virtual void on_gone(Worker& worker) = 0;  // reaped, or lost before it existed
  virtual void on_note(Worker& worker, const message::Received& note) = 0;
  // Its request's program is about to execute a file, and waits for answer_execute().
  virtual void on_execute(Worker& worker, const message::Execution& execution) = 0;

 protected:
  ~WorkerOwner() = default;
};

}  // namespace worker
