#include "worker/child_reaper.h"

#include <sys/wait.h>

#include <csignal>
#include <vector>

#include "base/assert.h"

namespace worker {
namespace {

// siginfo's parts put together as waitpid() would give them.
int wait_status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return (info.si_status & 0x7f) | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

}  // namespace

ChildReaper::ChildReaper(loop::Loop& loop)
    : signal_(loop, SIGCHLD, [this] { on_child_signal(); }) {}

void ChildReaper::expect(pid_t pid, std::function<void(int)> on_death) {
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
  // Its death may have been told already, and what died unnoticed meanwhile is swept here.
  on_child_signal();
}

bool ChildReaper::is_living_child(pid_t pid) {
  siginfo_t info{};
  const int outcome = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return outcome == 0 && info.si_pid == 0;
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
  // A told owner may hold another pid: then the rest is looked at one by one.
  while (held_.empty()) {
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid <= 0) return;
    tell(pid, wait_status);
  }
  reap_each();
}

void ChildReaper::reap_each() {
  std::vector<pid_t> pids;
  for (const auto& [pid, on_death] : on_death_) pids.push_back(pid);
  for (const pid_t pid : pids) {
    siginfo_t info{};
    const int keep = held_.contains(pid) ? WNOWAIT : 0;
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | keep) != 0) continue;
    if (info.si_pid == pid) tell(pid, wait_status_of(info));
  }
}

void ChildReaper::tell(pid_t pid, int wait_status) {
  const auto found = on_death_.find(pid);
  if (found == on_death_.end()) return;
  const auto on_death = std::move(found->second);
  on_death_.erase(found);
  on_death(wait_status);
}

}  // namespace worker
