#include "worker/child_reaper.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "base/assert.h"

namespace worker {
namespace {

// A program can make children of the daemon (clone with CLONE_PARENT) that end or stop as fast as
// they are looked at: others want their turn.
constexpr unsigned kLooksATurn = 64;
constexpr std::chrono::milliseconds kPause{1};

// Puts siginfo's parts together as waitpid() would return them.
int wait_status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return (info.si_status & 0x7f) | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

// waitid(2) as the kernel has it: it also reports the resources used, which the C library's does
// not ask for.
int wait_for(pid_t pid, siginfo_t& info, int options, rusage& used) {
  return static_cast<int>(::syscall(SYS_waitid, P_PID, pid, &info, options, &used));
}

std::chrono::microseconds time_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

Death death_of(int wait_status, const rusage& used) {
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  return {.wait_status = wait_status,
          .cpu = time_of(used.ru_utime) + time_of(used.ru_stime),
          .peak_kib = used.ru_maxrss > own.ru_maxrss ? std::uint64_t(used.ru_maxrss) : 0};
}

// A child that asked to be traced (PTRACE_TRACEME) has its parent as its tracer, and stops at each
// signal until the parent lets it go on: we detach from it for good, and pass on the signal.
void let_go(pid_t pid, int signal) {
  ::ptrace(PTRACE_DETACH, pid, nullptr, signal == SIGTRAP ? 0 : signal);
}

bool has_ended(const siginfo_t& info) {
  return info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
}

}  // namespace

// The signals themselves are many, and libuv reads them until there are no more: so the children
// are looked at once, when all that has arrived was read.
ChildReaper::ChildReaper(loop::Loop& loop)
    : look_(loop, [this] { on_child_signal(); }),
      rest_(loop, [this] { on_child_signal(); }),
      signal_(loop, SIGCHLD, [this] { look_.schedule(); }) {}

void ChildReaper::signal_group(pid_t leader, int signal_number) {
  ::kill(-leader, signal_number);
}

void ChildReaper::kill_one(pid_t pid) {
  ::kill(pid, SIGKILL);
}

void ChildReaper::expect(pid_t pid, std::function<void(const Death&)> on_death) {
  BRIDGE_ASSERT(on_death_.emplace(pid, std::move(on_death)).second);
}

void ChildReaper::forget(pid_t pid) {
  on_death_.erase(pid);
}

void ChildReaper::hold(pid_t pid) {
  held_.insert(pid);
}

void ChildReaper::release(pid_t pid) {
  if (held_.erase(pid) == 0) return;
  // Its death may have been reported already. Reap it now, with whatever died unnoticed meanwhile.
  on_child_signal();
}

void ChildReaper::abandon(pid_t pid) {
  on_death_.erase(pid);
  held_.erase(pid);
}

bool ChildReaper::is_living_child(pid_t pid) const {
  siginfo_t info{};
  const int outcome = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return outcome == 0 && (info.si_pid == 0 || !has_ended(info));
}

void ChildReaper::on_child_signal() {
  if (held_.empty()) {
    reap_any();
  } else {
    reap_each();
  }
}

void ChildReaper::reap_any() {
  int wait_status = 0;
  rusage used{};
  // An owner that is told may hold another pid: then the rest is looked at one by one.
  for (unsigned looks = 0; held_.empty(); ++looks) {
    if (looks == kLooksATurn) return rest_.start(kPause);
    const pid_t pid = ::wait4(-1, &wait_status, WNOHANG, &used);
    if (pid <= 0) return;
    if (WIFSTOPPED(wait_status)) {
      // A program can make children of the bridge that it does not know; one that wants the bridge
      // for its tracer does so to keep it busy.
      if (!on_death_.contains(pid)) ::kill(pid, SIGKILL);
      let_go(pid, WSTOPSIG(wait_status));
    } else {
      tell(pid, wait_status, used);
    }
  }
  reap_each();
}

void ChildReaper::reap_each() {
  std::vector<pid_t> pids;
  for (const auto& [pid, on_death] : on_death_) pids.push_back(pid);
  for (const pid_t pid : pids) {
    siginfo_t info{};
    rusage used{};
    const int keep = held_.contains(pid) ? WNOWAIT : 0;
    if (wait_for(pid, info, WEXITED | WNOHANG | keep, used) != 0) continue;
    if (info.si_pid != pid) continue;
    if (has_ended(info)) {
      tell(pid, wait_status_of(info), used);
    } else {
      let_go(pid, info.si_status);
    }
  }
}

void ChildReaper::tell(pid_t pid, int wait_status, const rusage& used) {
  const auto found = on_death_.find(pid);
  if (found == on_death_.end()) return;
  const auto on_death = std::move(found->second);
  on_death_.erase(found);
  on_death(death_of(wait_status, used));
}

}  // namespace worker
