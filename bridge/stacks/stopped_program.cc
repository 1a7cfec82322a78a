#include "stacks/stopped_program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace stacks {
namespace {

constexpr std::chrono::microseconds kPoll{100};
// How much time an immediate stop counts for, so that a program that stops for ever is given up
// too.
constexpr std::chrono::microseconds kLook{10};
constexpr int kSyscallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
constexpr std::size_t kWrittenMax = 64 * 1024;
// x86-64's ABI: the area below the stack pointer that is in use nevertheless.
[[maybe_unused]] constexpr std::size_t kRedZone = 128;

long trace(int request, pid_t pid, void* address = nullptr, void* data = nullptr) {
  return ::ptrace(static_cast<__ptrace_request>(request), pid, address, data);
}

void* as_pointer(std::uint64_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT: ptrace takes numbers this way
}

// The wait status of its next stop or of its end; none if that takes too long.
// patience: how long it may take; reduced by the time that it took.
std::optional<int> wait_status(pid_t pid, std::chrono::microseconds& patience) {
  for (;;) {
    int status = 0;
    const pid_t found = ::waitpid(pid, &status, __WALL | WNOHANG);
    if (found == pid) {
      patience -= kLook;
      return status;
    }
    if (found < 0 && errno != EINTR) return 0;  // as if it had exited
    if (patience.count() <= 0) return std::nullopt;
    std::this_thread::sleep_for(kPoll);
    patience -= kPoll;
  }
}

bool is_event_stop(int status) {
  return WIFSTOPPED(status) && (status >> 16) == PTRACE_EVENT_STOP;
}

}  // namespace

// The part of the program's state that is not its own during a call.
struct StoppedProgram::State {
#if defined(__x86_64__)
  user_regs_struct registers{};
  std::vector<char> extended = std::vector<char>(16384);  // vector registers
  std::uint64_t signal_mask = 0;
#endif
};

StoppedProgram::StoppedProgram(pid_t pid) : pid_(pid) {}

base::Result<std::unique_ptr<StoppedProgram>> StoppedProgram::stop(pid_t pid) {
  if (trace(PTRACE_SEIZE, pid, nullptr, as_pointer(PTRACE_O_TRACESYSGOOD)) != 0) {
    return base::errno_error("cannot look at it", errno);
  }
  // From here on, the destructor lets it go.
  std::unique_ptr<StoppedProgram> program(new StoppedProgram(pid));
  trace(PTRACE_INTERRUPT, pid);
  if (const auto stopped = program->wait_for_stop(); !stopped) return stopped.error();
  return program;
}

// Waits until it has stopped for us; a signal that comes first is passed on.
base::Status StoppedProgram::wait_for_stop() {
  std::chrono::microseconds patience = kPatience;
  for (;;) {
    const auto status = wait_status(pid_, patience);
    if (!status) return base::Error{"it does not stop: it waits in the kernel, for a disk perhaps"};
    if (is_event_stop(*status)) return base::Done{};
    if (!WIFSTOPPED(*status)) {
      gone_ = true;
      return base::Error{"it has ended"};
    }
    trace(PTRACE_CONT, pid_, nullptr, as_pointer(static_cast<unsigned>(WSTOPSIG(*status))));
  }
}

// ---- memory ----

bool StoppedProgram::read(Address from, void* to, std::size_t bytes) const {
  const iovec here{to, bytes}, there{as_pointer(from), bytes};
  return ::process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool StoppedProgram::write(Address to, const void* from, std::size_t bytes) const {
  const iovec here{const_cast<void*>(from), bytes}, there{as_pointer(to), bytes};
  return ::process_vm_writev(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

std::string StoppedProgram::read_text(Address from, std::size_t bytes_max) const {
  constexpr std::size_t kPiece = 64;
  std::string text;
  while (text.size() < bytes_max) {
    // Never beyond the end of an aligned piece, which is within one page.
    char piece[kPiece];
    const std::size_t bytes = kPiece - (from + text.size()) % kPiece;
    if (!read(from + text.size(), piece, bytes)) return {};
    const std::size_t length = ::strnlen(piece, bytes);
    text.append(piece, length);
    if (length < bytes) break;
  }
  return text.substr(0, bytes_max);
}

// ---- calls ----

#if defined(__x86_64__)

namespace {

std::uint64_t bit(int signal_number) {
  return std::uint64_t(1) << (signal_number - 1);
}

// From /proc/PID/status, where it is in hexadecimal.
std::uint64_t ignored_signals(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 8192> text{};
  if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return ~std::uint64_t(0);
  const char* found = std::strstr(text.data(), "SigIgn:");
  return found == nullptr ? ~std::uint64_t(0) : std::strtoull(found + 7, nullptr, 16);
}

}  // namespace

bool StoppedProgram::save_state() {
  if (state_ != nullptr) return true;
  // A call ends in a fault, which the kernel shows us first; but if the program ignores that
  // signal, this would change the program.
  if ((ignored_signals(pid_) & bit(SIGSEGV)) != 0) return false;
  auto state = std::make_unique<State>();
  iovec extended{state->extended.data(), state->extended.size()};
  if (trace(PTRACE_GETREGS, pid_, nullptr, &state->registers) != 0 ||
      trace(PTRACE_GETREGSET, pid_, as_pointer(NT_X86_XSTATE), &extended) != 0 ||
      trace(PTRACE_GETSIGMASK, pid_, as_pointer(sizeof state->signal_mask), &state->signal_mask) !=
          0) {
    return false;
  }
  state->extended.resize(extended.iov_len);
  state_ = std::move(state);
  return true;
}

void StoppedProgram::put_back() {
  if (!disturbed_ || gone_) return;
  iovec extended{state_->extended.data(), state_->extended.size()};
  trace(PTRACE_SETREGSET, pid_, as_pointer(NT_X86_XSTATE), &extended);
  trace(PTRACE_SETREGS, pid_, nullptr, &state_->registers);
  trace(PTRACE_SETSIGMASK, pid_, as_pointer(sizeof state_->signal_mask), &state_->signal_mask);
  disturbed_ = false;
}

Address StoppedProgram::scratch() const {
  return state_ == nullptr ? 0 : (state_->registers.rsp - kRedZone - kScratchBytes) & ~Address(63);
}

// Stopped on entry to function, as right after a call whose return address is 0.
bool StoppedProgram::enter(Address function, std::initializer_list<std::uint64_t> arguments) {
  user_regs_struct registers = state_->registers;
  const std::array<unsigned long long*, 4> places{&registers.rdi, &registers.rsi, &registers.rdx,
                                                  &registers.rcx};
  std::size_t used = 0;
  for (const std::uint64_t argument : arguments) *places.at(used++) = argument;
  registers.rip = function;
  registers.rax = 0;
  registers.orig_rax = ~0ULL;     // no system call to be restarted
  registers.eflags &= ~0x400ULL;  // the direction flag, as functions expect it
  registers.rsp = scratch() - 8;
  const std::uint64_t nowhere = 0;
  if (!write(registers.rsp, &nowhere, sizeof nowhere)) return false;
  // The program's signals wait; the one that shows the end of the call does not.
  std::uint64_t mask = ~(bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE) | bit(SIGTRAP));
  disturbed_ = true;
  return trace(PTRACE_SETSIGMASK, pid_, as_pointer(sizeof mask), &mask) == 0 &&
         trace(PTRACE_SETREGS, pid_, nullptr, &registers) == 0;
}

// It did not return in time: stopped anyway.
void StoppedProgram::break_off() {
  std::chrono::microseconds patience = kPatience;
  trace(PTRACE_INTERRUPT, pid_);
  for (;;) {
    const auto status = wait_status(pid_, patience);
    if (!status || !WIFSTOPPED(*status)) {
      gone_ = true;
      return;
    }
    // If it were put back at a system call's end, the call that the program was waiting in would
    // not be restarted.
    if (WSTOPSIG(*status) != kSyscallStop) return;
    trace(PTRACE_CONT, pid_);
  }
}

std::optional<StoppedProgram::Called> StoppedProgram::call(
    Address function, std::initializer_list<std::uint64_t> arguments) {
  if (gone_ || !save_state() || !enter(function, arguments)) return std::nullopt;
  Called called;
  user_regs_struct registers;
  bool in_system_call = false;
  std::chrono::microseconds patience = kPatience;
  for (;;) {
    trace(PTRACE_SYSCALL, pid_);
    const auto status = wait_status(pid_, patience);
    if (!status) {
      break_off();
      return std::nullopt;
    }
    if (!WIFSTOPPED(*status)) {
      gone_ = true;
      return std::nullopt;
    }
    if (trace(PTRACE_GETREGS, pid_, nullptr, &registers) != 0) return std::nullopt;
    if (WSTOPSIG(*status) == kSyscallStop) {
      in_system_call = !in_system_call;
      if (!in_system_call || registers.orig_rax != SYS_write) continue;
      const std::size_t room = kWrittenMax - called.written.size();
      std::string piece(std::min<std::size_t>(registers.rdx, room), '\0');
      if (read(registers.rsi, piece.data(), piece.size())) called.written += piece;
    } else if (WSTOPSIG(*status) == SIGSEGV && registers.rip == 0) {
      called.result = registers.rax;
      return called;
    } else if (!is_event_stop(*status)) {
      return std::nullopt;  // it failed; put_back() undoes that
    }
  }
}

#else  // How a call is made differs for each kind of processor.

bool StoppedProgram::save_state() {
  return false;
}
void StoppedProgram::put_back() {}
Address StoppedProgram::scratch() const {
  return 0;
}
std::optional<StoppedProgram::Called> StoppedProgram::call(Address,
                                                           std::initializer_list<std::uint64_t>) {
  return std::nullopt;
}

#endif

StoppedProgram::~StoppedProgram() {
  if (gone_) return;
  put_back();
  trace(PTRACE_DETACH, pid_);
}

}  // namespace stacks
