#include "sandbox/namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace sandbox {
namespace {

constexpr int kPatienceMs = 5000;
constexpr int kControlFd = 3;
// Above all numbers that a child uses for something else.
constexpr int kLeastFd = 10;

base::UniqueFd move_up(base::UniqueFd fd) {
  return base::UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kLeastFd));
}

// Between vfork() and exec(): system calls only.
[[noreturn]] void become_maker(const char* const* argv, int control, int errors, int steps) {
  ::dup2(errors, 2);
  ::dup2(control, kControlFd);
  ::fcntl(steps, F_SETFD, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL));
  ::execve(argv[0], const_cast<char* const*>(argv), const_cast<char* const*>(argv + 6));
  ::_exit(127);
}

pid_t start_maker(const std::string& step_down, int control, int errors, int steps) {
  const std::string number = std::to_string(steps);
  // The last element also ends the environment.
  const std::array<const char*, 7> argv = {
      step_down.c_str(), "-", number.c_str(), "/", "-", "-", nullptr};
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) become_maker(argv.data(), control, errors, steps);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return pid;
}

bool becomes_readable(int fd) {
  pollfd wanted{fd, POLLIN, 0};
  int ready = 0;
  do ready = ::poll(&wanted, 1, kPatienceMs);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

std::string first_line(int fd) {
  std::array<char, 512> text{};
  const ssize_t size = ::read(fd, text.data(), text.size());
  std::string_view said(text.data(), size > 0 ? std::size_t(size) : 0);
  for (const std::string_view prefix : {"cgibridge: ", "sandbox: "}) {
    if (said.starts_with(prefix)) said.remove_prefix(prefix.size());
  }
  return std::string(said.substr(0, said.find('\n')));
}

base::UniqueFd open_of(pid_t pid, const char* what, int flags) {
  const std::string path = fmt::format("/proc/{}/{}", pid, what);
  return base::UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
}

bool same(const base::UniqueFd& fd, const char* own) {
  struct stat ours = {};
  struct stat theirs = {};
  return ::stat(own, &ours) == 0 && ::fstat(fd.get(), &theirs) == 0 && ours.st_ino == theirs.st_ino;
}

// Opens those namespaces that are not ours.
base::Result<Namespaces> open_all(pid_t pid) {
  Namespaces made;
  const auto keep = [&](base::UniqueFd& into, const char* name) {
    base::UniqueFd fd = open_of(pid, name, O_RDONLY);
    if (!fd) return false;
    if (!same(fd, fmt::format("/proc/self/{}", name).c_str())) into = move_up(std::move(fd));
    return true;
  };
  base::UniqueFd root = open_of(pid, "root", O_PATH | O_DIRECTORY);
  if (!root || !keep(made.users, "ns/user") || !keep(made.mounts, "ns/mnt") ||
      !keep(made.network, "ns/net")) {
    return base::errno_error("cannot open its namespaces", errno);
  }
  if (made.mounts) made.root = move_up(std::move(root));
  return made;
}

}  // namespace

base::Result<Namespaces> make_namespaces(const std::string& step_down, const StepList& steps) {
  auto list = steps.sealed();
  auto control = base::make_socket_pair(SOCK_STREAM);
  auto errors = base::make_pipe(base::NonblockingEnd::reading);
  if (!list) return list.error();
  if (!control) return control.error();
  if (!errors) return errors.error();
  const base::UniqueFd high = move_up(list.take());
  const pid_t pid =
      start_maker(step_down, control.value().second.get(), errors.value().second.get(), high.get());
  if (pid < 0) return base::errno_error("cannot start a process", errno);
  control.value().second.reset();
  errors.value().second.reset();

  char byte = 0;
  const bool answered = becomes_readable(control.value().first.get());
  const bool ready = answered && ::read(control.value().first.get(), &byte, 1) == 1;
  base::Result<Namespaces> made = ready ? open_all(pid) : base::Error{};
  if (!ready) {
    const std::string said = first_line(errors.value().first.get());
    made = base::Error{!answered      ? "it takes more than 5 seconds"
                       : said.empty() ? "cgibridge-step-down cannot be executed, or was killed"
                                      : said};
    ::kill(pid, SIGKILL);
  }
  control.value().first.reset();  // makes it end
  // If it hangs in the kernel, it is reaped with the programs' processes when it ends.
  if (answered) ::waitpid(pid, nullptr, 0);
  return made;
}

}  // namespace sandbox
