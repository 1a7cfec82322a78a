// A running program, stopped for a moment to be examined, and put back as it was.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stacks {

using Address = std::uint64_t;

// By ptrace(2): the program gets no signal and no event; a system call that it is waiting in
// continues afterwards as if nothing had happened. Only its first thread is stopped. Destroying
// lets it go, with registers, signal mask and errno as they were; so does the end of this process.
class StoppedProgram {
 public:
  // How long it may take to stop, and to answer a call.
  static constexpr std::chrono::milliseconds kPatience{1000};

  static base::Result<std::unique_ptr<StoppedProgram>> stop(pid_t pid);
  ~StoppedProgram();
  StoppedProgram(const StoppedProgram&) = delete;
  StoppedProgram& operator=(const StoppedProgram&) = delete;

  pid_t pid() const { return pid_; }

  // Its memory. If something cannot be read, the result is none or an empty text.
  bool read(Address from, void* to, std::size_t bytes) const;
  std::string read_text(Address from, std::size_t bytes_max) const;  // up to a NUL
  template <typename Value>
  std::optional<Value> read_value(Address from) const {
    Value value;
    if (!read(from, &value, sizeof value)) return std::nullopt;
    return value;
  }

  // Memory below its stack for what a call needs, valid until the next call.
  static constexpr std::size_t kScratchBytes = 4096;
  Address scratch() const;
  bool write(Address to, const void* from, std::size_t bytes) const;

  // Makes it call one of its own functions, which must be callable at any moment, as in a signal
  // handler. written: what the function wrote, or tried to write, to any descriptor. None: it did
  // not return, or calls cannot be made here; the program is unharmed.
  struct Called {
    std::uint64_t result = 0;
    std::string written{};
  };
  std::optional<Called> call(Address function, std::initializer_list<std::uint64_t> arguments);
  // Restores its own registers and signal mask, for whoever reads them.
  void put_back();

 private:
  struct State;
  explicit StoppedProgram(pid_t pid);
  base::Status wait_for_stop();
  bool save_state();
  bool enter(Address function, std::initializer_list<std::uint64_t> arguments);
  void break_off();

  const pid_t pid_;
  bool gone_ = false;
  bool disturbed_ = false;  // its registers are not its own
  std::unique_ptr<State> state_;
};

}  // namespace stacks
