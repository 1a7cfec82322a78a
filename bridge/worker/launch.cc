#include "worker/launch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/unique_fd.h"

namespace worker {
namespace {

// The limit of open descriptors that programs get back; set when the bridge raised its own.
rlimit original_limit{};
bool limit_raised = false;

// Which step of the child failed, and how. Written by the child into the parent's memory: vfork.
struct ChildFailure {
  const char* step = nullptr;
  int error_number = 0;
};

// Everything between vfork() and exec(): system calls only.
[[noreturn]] void become(const LaunchSpec& spec, char* const* argv, char* const* envp,
                         volatile ChildFailure& failure) {
  const bool steps_down = spec.terms.identity.has_value();
  const auto fail = [&failure](const char* step) {
    failure.step = step;
    failure.error_number = errno;
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_DFL);
  if (limit_raised) ::setrlimit(RLIMIT_NOFILE, &original_limit);
  const int fds[] = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd, spec.control_fd};
  for (int number = 0; number <= kControlFd; ++number) {
    if (fds[number] < 0) continue;
    if (fds[number] == number) {
      ::fcntl(number, F_SETFD, 0);
    } else if (::dup2(fds[number], number) < 0) {
      fail("dup2");
    }
  }
  if (!steps_down && ::chdir(spec.cwd.c_str()) != 0) fail("enter its folder");
  if (const char* action = limits::apply(spec.terms)) fail(action);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(steps_down ? argv[0] : spec.file.c_str(), argv, envp);
  fail(steps_down ? "execute cgibridge-step-down" : "execute it");
  __builtin_unreachable();
}

std::vector<char*> environment_pointers(const LaunchSpec& spec) {
  std::vector<char*> pointers;
  pointers.reserve(spec.environment_count + 1);
  const char* at = spec.environment.data();
  const char* end = at + spec.environment.size();
  for (; at < end; at += std::strlen(at) + 1) pointers.push_back(const_cast<char*>(at));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<char*> argv_pointers(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

base::Result<pid_t> launch(const LaunchSpec& spec) {
  std::vector<std::string> steps;
  if (spec.terms.identity) {
    steps = limits::step_down_argv(spec.terms, spec.cwd, spec.file, spec.argv);
    const int streams[] = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd};
    limits::give_streams(*spec.terms.identity, streams, 3);
  }
  const std::vector<char*> argv = argv_pointers(steps.empty() ? spec.argv : steps);
  const std::vector<char*> envp = environment_pointers(spec);
  volatile ChildFailure failure;

  // The child shares this memory until exec(): no handler of ours may run in it.
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) become(spec, argv.data(), envp.data(), failure);
  const int fork_error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);

  if (pid < 0) return base::errno_error("cannot start a process", fork_error);
  if (failure.step != nullptr) {
    // The failed child is reaped like any other: its pid is known to nobody, so nobody waits.
    const int error_number = failure.error_number;
    return base::errno_error(std::string("cannot ") + const_cast<const char*>(failure.step),
                             error_number);
  }
  return pid;
}

void raise_descriptor_limit() {
  if (::getrlimit(RLIMIT_NOFILE, &original_limit) != 0) return;
  rlimit raised = original_limit;
  raised.rlim_cur = raised.rlim_max;
  limit_raised = ::setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

}  // namespace worker
