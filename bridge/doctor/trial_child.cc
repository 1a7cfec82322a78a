#include "doctor/trial_child.h"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.h"

namespace doctor {
namespace {

// What passes through the pipe.
struct Outcome {
  bool works = false;
  int error = 0;
  std::array<char, 64> step{};
};

[[noreturn]] void report(const Trial& trial, int fd) {
  Outcome outcome{.works = trial.works, .error = trial.error};
  trial.step.copy(outcome.step.data(), outcome.step.size() - 1);
  const ssize_t written = ::write(fd, &outcome, sizeof outcome);
  ::_exit(written == sizeof outcome ? 0 : 1);
}

Trial read_outcome(int fd, base::Duration patience) {
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(patience.count())) <= 0) {
    return {.works = false, .step = "a trial", .error = ETIMEDOUT};
  }
  Outcome outcome;
  if (::read(fd, &outcome, sizeof outcome) != sizeof outcome) {
    return {.works = false, .step = "a trial was killed", .error = EPERM};
  }
  return {.works = outcome.works, .step = outcome.step.data(), .error = outcome.error};
}

}  // namespace

Trial failed_at(const char* step) {
  return {.works = false, .step = step, .error = errno};
}

Trial in_child(const std::function<Trial()>& act, base::Duration patience) {
  auto pipe = base::make_pipe();
  if (!pipe) return failed_at("pipe");
  const pid_t child = ::fork();
  if (child < 0) return failed_at("fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0L, 0L, 0L);
    pipe.value().first.reset();
    report(act(), pipe.value().second.get());
  }
  pipe.value().second.reset();
  const Trial trial = read_outcome(pipe.value().first.get(), patience);
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return trial;
}

Trial become(const Who& who) {
  if (::setgroups(who.groups.size(), who.groups.data()) != 0) return failed_at("setgroups");
  if (::setresgid(who.gid, who.gid, who.gid) != 0) return failed_at("setresgid");
  if (::setresuid(who.uid, who.uid, who.uid) != 0) return failed_at("setresuid");
  // Otherwise its own files in /proc belong to root, as they do for no program.
  ::prctl(PR_SET_DUMPABLE, 1L, 0L, 0L, 0L);
  return {.works = true};
}

}  // namespace doctor
